//! Hosts by name: the NIC that goes with each transport.

use crate::host::Host;
use crate::node_by_node::NodeByNode;
use backwater_nic::{Fifo, LeastLeft, List, Rings, Srpt, Throttled};
use backwater_transport::{
    Control, ExpressPass, ExpressPassHeader, GoBackN, Homa, HomaHeader, HpccGoBackN, Left, Selective, Srf, Tcp,
};

/// RDMA host under control `C`: queues that BFC may pause, go-back-N.
pub type RdmaHost<C> = Host<Rings<Carried<C>>, GoBackN<C>, NodeByNode<Carried<C>>>;
/// RDMA host under control `C` that retransmits single packets.
pub type SelectiveHost<C> = Host<Rings<Carried<C>>, Selective<C>, NodeByNode<Carried<C>>>;
/// Host of the HPCC simulator.
pub type HpccHost<C, S> = Host<List<Carried<C>>, HpccGoBackN<C>, S>;
/// Metadata that packets carry for control `C`.
type Carried<C> = <C as Control>::Extension;
/// TCP host.
pub type TcpHost = Host<Fifo, Tcp, NodeByNode>;
/// ExpressPass host.
pub type ExpressPassHost =
    Host<Throttled<Fifo<ExpressPassHeader>, ExpressPassHeader>, ExpressPass, NodeByNode<ExpressPassHeader>>;
/// Homa host.
pub type HomaHost = Host<Srpt<HomaHeader>, Homa, NodeByNode<HomaHeader>>;
/// SRF host: the flow with the fewest bytes left sends first.
pub type SrfHost = Host<LeastLeft<Left>, GoBackN<Srf>, NodeByNode<Left>>;
