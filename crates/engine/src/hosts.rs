//! Hosts by name: which NIC goes with which transport.

use crate::host::Host;
use crate::node_by_node::NodeByNode;
use backwater_nic::{Fifo, LeastLeft, List, Rings, Srpt, Throttled};
use backwater_transport::{
    Control, ExpressPass, ExpressPassHeader, GoBackN, Homa, HomaHeader, HpccGoBackN, Left, Selective, Srf, Tcp,
};

/// A host of RDMA, under control `C`: queues that BFC may pause, go-back-N.
pub type RdmaHost<C> = Host<Rings<Carried<C>>, GoBackN<C>, NodeByNode<Carried<C>>>;
/// The same with retransmission packet by packet.
pub type SelectiveHost<C> = Host<Rings<Carried<C>>, Selective<C>, NodeByNode<Carried<C>>>;
/// The host of the HPCC simulator.
pub type HpccHost<C, S> = Host<List<Carried<C>>, HpccGoBackN<C>, S>;
/// What control `C` has its packets carry.
type Carried<C> = <C as Control>::Extension;
/// A host of TCP.
pub type TcpHost = Host<Fifo, Tcp, NodeByNode>;
/// A host of ExpressPass.
pub type ExpressPassHost =
    Host<Throttled<Fifo<ExpressPassHeader>, ExpressPassHeader>, ExpressPass, NodeByNode<ExpressPassHeader>>;
/// A host of Homa.
pub type HomaHost = Host<Srpt<HomaHeader>, Homa, NodeByNode<HomaHeader>>;
/// A host that serves first what has the least left.
pub type SrfHost = Host<LeastLeft<Left>, GoBackN<Srf>, NodeByNode<Left>>;
