// DCTCP over TCP in ns-3 3.37, on the topology.txt and flow.txt that `backwater export hpcc` writes:
//
//     dctcp topology.txt flow.txt THRESHOLD arrival|departure times.csv
//
// THRESHOLD is the step of marking at each port, in bytes of queue. A packet is marked by the queue that it finds when
// it arrives (RED of ns-3), or by the one that it leaves behind (as in the simulators of HPCC and BFC). times.csv has a
// line for each flow, with times in seconds; a flow ends when its last byte is at the receiver. Prints as JSON how many
// flows finished, the packet-hops and the seconds that `Simulator::Run` took.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr double ORIGIN = 2; // seconds: where `export hpcc` begins
constexpr uint16_t LISTEN = 100;
constexpr uint32_t PAYLOAD = 1000; // bytes of a segment
constexpr const char* BUFFER = "100MB";

struct Flow
{
    uint32_t source, destination;
    uint64_t bytes;
    double start; // seconds
    uint64_t written = 0; // bytes, into the sender's socket
    uint64_t received = 0;
    double end = -1; // seconds, when the last byte has arrived
};

NodeContainer nodes;
std::vector<bool> isSwitch;
std::vector<Flow> flows;
size_t hops = 0;
size_t finished = 0;

// The address of node n is 10.0.0.0 + n + 1, on each of its interfaces.
Ipv4Address
AddressOf(uint32_t node)
{
    return Ipv4Address(0x0a000000u + node + 1);
}

uint32_t
NodeOf(Ipv4Address address)
{
    return address.Get() - 0x0a000001u;
}

// Shortest paths. A hash of addresses and ports chooses among equal ones, so each direction of a connection has one
// path. The router of ns-3 always takes the first path, or a random one for each packet.
class HashedRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("HashedRouting").SetParent<Ipv4RoutingProtocol>();
        return id;
    }

    // next[destination]: interfaces of this node that are on a shortest path.
    std::vector<std::vector<uint32_t>> next;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> packet,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return Route(header, packet);
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        if (NodeOf(header.GetDestination()) == m_node)
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        }
        else
        {
            forward(Route(header, packet), packet, header);
        }
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
        m_node = ipv4->GetObject<Node>()->GetId();
    }

  private:
    Ptr<Ipv4Route> Route(const Ipv4Header& header, Ptr<const Packet> packet)
    {
        const auto& ways = next[NodeOf(header.GetDestination())];
        uint32_t way = 0;
        if (ways.size() > 1)
        {
            uint8_t ports[4] = {};
            if (packet)
            {
                packet->CopyData(ports, sizeof ports);
            }
            uint64_t key;
            uint32_t both;
            std::memcpy(&both, ports, sizeof both);
            key = (uint64_t(header.GetSource().Get()) << 32 | header.GetDestination().Get()) ^ m_node;
            key ^= uint64_t(both) * 0x9e3779b97f4a7c15u;
            key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
            key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
            way = (key >> 33) % ways.size();
        }
        // One route for each interface: packets do not allocate one.
        auto& route = m_routes[ways[way]];
        if (!route)
        {
            route = Create<Ipv4Route>();
            route->SetSource(AddressOf(m_node));
            route->SetOutputDevice(m_ipv4->GetNetDevice(ways[way]));
            route->SetGateway(Ipv4Address::GetZero());
        }
        route->SetDestination(header.GetDestination());
        return route;
    }

    Ptr<Ipv4> m_ipv4;
    uint32_t m_node = 0;
    std::map<uint32_t, Ptr<Ipv4Route>> m_routes;
};

// A FIFO that marks a packet as it leaves. ns-3 has none.
class DepartureStep : public QueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("DepartureStep")
                               .SetParent<QueueDisc>()
                               .AddConstructor<DepartureStep>()
                               .AddAttribute("Threshold",
                                             "Bytes of queue from which packets are marked",
                                             UintegerValue(0),
                                             MakeUintegerAccessor(&DepartureStep::m_threshold),
                                             MakeUintegerChecker<uint32_t>());
        return id;
    }

    DepartureStep()
        : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE)
    {
    }

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override
    {
        return GetInternalQueue(0)->Enqueue(item);
    }

    Ptr<QueueDiscItem> DoDequeue() override
    {
        Ptr<QueueDiscItem> item = GetInternalQueue(0)->Dequeue();
        if (item && GetInternalQueue(0)->GetNBytes() >= m_threshold)
        {
            Mark(item, "above the threshold");
        }
        return item;
    }

    bool CheckConfig() override
    {
        if (GetNInternalQueues() == 0)
        {
            AddInternalQueue(
                CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>("MaxSize", QueueSizeValue(QueueSize(BUFFER))));
        }
        return true;
    }

    void InitializeParams() override {}

    uint32_t m_threshold = 0;
};

NS_OBJECT_ENSURE_REGISTERED(DepartureStep);

void
CountHop(Ptr<const Packet>)
{
    hops++;
}

// Writes as much of a flow as its socket takes now.
void
Write(Flow* flow, Ptr<Socket> socket)
{
    while (flow->written < flow->bytes)
    {
        uint32_t room = std::min<uint64_t>(flow->bytes - flow->written, socket->GetTxAvailable());
        int sent = room > 0 ? socket->Send(Create<Packet>(room)) : 0;
        if (sent <= 0)
        {
            return;
        }
        flow->written += sent;
    }
    socket->Close();
}

void
WriteMore(Flow* flow, Ptr<Socket> socket, uint32_t)
{
    Write(flow, socket);
}

std::map<std::pair<uint32_t, uint16_t>, uint32_t> numbers; // (source, port): number of the flow
std::map<uint32_t, uint16_t> ports;                        // [source]: connections it opened

void
Start(uint32_t number)
{
    Flow& flow = flows[number];
    Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(flow.source), TcpSocketFactory::GetTypeId());
    uint16_t port = 1000 + ports[flow.source]++;
    socket->Bind(InetSocketAddress(AddressOf(flow.source), port));
    numbers[{flow.source, port}] = number;
    socket->SetConnectCallback(MakeBoundCallback(&Write, &flow), MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeBoundCallback(&WriteMore, &flow));
    socket->Connect(InetSocketAddress(AddressOf(flow.destination), LISTEN));
}

void
Receive(uint32_t number, Ptr<Socket> socket)
{
    Flow& flow = flows[number];
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        flow.received += packet->GetSize();
    }
    if (flow.received >= flow.bytes && flow.end < 0)
    {
        flow.end = Simulator::Now().GetSeconds();
        if (++finished == flows.size())
        {
            Simulator::Stop();
        }
    }
}

void
Accept(Ptr<Socket> socket, const Address& from)
{
    auto peer = InetSocketAddress::ConvertFrom(from);
    uint32_t number = numbers.at({NodeOf(peer.GetIpv4()), peer.GetPort()});
    socket->SetRecvCallback(MakeBoundCallback(&Receive, number));
}

// Neighbours of each node, and the interfaces towards them.
using Neighbours = std::vector<std::vector<std::pair<uint32_t, uint32_t>>>;

Neighbours
ReadTopology(const char* path, uint32_t threshold, bool atArrival)
{
    std::ifstream file(path);
    uint32_t n, switches, links;
    file >> n >> switches >> links;
    isSwitch.resize(n);
    for (uint32_t i = 0; i < switches; i++)
    {
        uint32_t node;
        file >> node;
        isSwitch[node] = true;
    }
    nodes.Create(n);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);

    // Ports of hosts mark as well.
    TrafficControlHelper queues;
    if (atArrival)
    {
        queues.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", StringValue(BUFFER),
                                "MinTh", DoubleValue(threshold),
                                "MaxTh", DoubleValue(threshold),
                                "QW", DoubleValue(1),
                                "Gentle", BooleanValue(false),
                                "UseEcn", BooleanValue(true),
                                "UseHardDrop", BooleanValue(false),
                                "MeanPktSize", UintegerValue(PAYLOAD));
    }
    else
    {
        queues.SetRootQueueDisc("DepartureStep", "Threshold", UintegerValue(threshold));
    }
    Neighbours neighbours(n);
    for (uint32_t i = 0; i < links; i++)
    {
        uint32_t ends[2];
        std::string rate, delay, loss;
        file >> ends[0] >> ends[1] >> rate >> delay >> loss;
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", StringValue(delay));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p")); // packets wait where they are marked
        NetDeviceContainer devices = link.Install(nodes.Get(ends[0]), nodes.Get(ends[1]));
        for (int side = 0; side < 2; side++)
        {
            Ptr<NetDevice> device = devices.Get(side);
            queues.Install(device);
            Ptr<Ipv4> ipv4 = device->GetNode()->GetObject<Ipv4>();
            uint32_t interface = ipv4->AddInterface(device);
            ipv4->AddAddress(interface, Ipv4InterfaceAddress(AddressOf(ends[side]), Ipv4Mask::GetOnes()));
            ipv4->SetUp(interface);
            neighbours[ends[side]].emplace_back(ends[1 - side], interface);
            device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountHop));
        }
    }
    return neighbours;
}

// Number of links from each node to `to`, through switches only.
std::vector<uint32_t>
Distances(const Neighbours& neighbours, uint32_t to)
{
    std::vector<uint32_t> distance(neighbours.size(), UINT32_MAX);
    std::deque<uint32_t> queue{to};
    distance[to] = 0;
    while (!queue.empty())
    {
        uint32_t at = queue.front();
        queue.pop_front();
        if (at != to && !isSwitch[at])
        {
            continue;
        }
        for (auto [other, interface] : neighbours[at])
        {
            if (distance[other] == UINT32_MAX)
            {
                distance[other] = distance[at] + 1;
                queue.push_back(other);
            }
        }
    }
    return distance;
}

void
SetRoutes(const Neighbours& neighbours)
{
    const uint32_t n = neighbours.size();
    std::vector<Ptr<HashedRouting>> routing(n);
    for (uint32_t node = 0; node < n; node++)
    {
        routing[node] = CreateObject<HashedRouting>();
        routing[node]->next.resize(n);
        nodes.Get(node)->GetObject<Ipv4>()->SetRoutingProtocol(routing[node]);
    }
    for (uint32_t to = 0; to < n; to++)
    {
        auto distance = Distances(neighbours, to);
        for (uint32_t node = 0; node < n; node++)
        {
            for (auto [other, interface] : neighbours[node])
            {
                if (distance[other] != UINT32_MAX && distance[other] + 1 == distance[node])
                {
                    routing[node]->next[to].push_back(interface);
                }
            }
        }
    }
}

// Every host listens, and every flow waits for its start.
void
ReadFlows(const char* path)
{
    std::ifstream file(path);
    size_t total;
    file >> total;
    flows.resize(total);
    for (auto& flow : flows)
    {
        uint32_t group, port;
        file >> flow.source >> flow.destination >> group >> port >> flow.bytes >> flow.start;
    }
    for (uint32_t node = 0; node < isSwitch.size(); node++)
    {
        if (!isSwitch[node])
        {
            Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(node), TcpSocketFactory::GetTypeId());
            socket->Bind(InetSocketAddress(AddressOf(node), LISTEN));
            socket->Listen();
            socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accept));
        }
    }
    for (size_t number = 0; number < total; number++)
    {
        flows[number].start -= ORIGIN;
        Simulator::Schedule(Seconds(flows[number].start), &Start, number);
    }
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 6)
    {
        std::fprintf(stderr, "usage: %s topology.txt flow.txt THRESHOLD arrival|departure times.csv\n", argv[0]);
        return 2;
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(5)));
    // A host looks through its closed connections at each packet, until it forgets them. The times of flows are the same.
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(1e-5));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    SetRoutes(ReadTopology(argv[1], std::stoul(argv[3]), std::string(argv[4]) == "arrival"));
    ReadFlows(argv[2]);

    auto before = std::chrono::steady_clock::now();
    Simulator::Run();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    std::printf("{\"finished\": %zu, \"packet_hops\": %zu, \"seconds\": %.4f}\n", finished, hops, seconds);

    std::ofstream times(argv[5]);
    times << "bytes,start_s,end_s\n";
    times.precision(12);
    for (const auto& flow : flows)
    {
        times << flow.bytes << ',' << flow.start << ',' << flow.end << '\n';
    }
    return 0;
}
