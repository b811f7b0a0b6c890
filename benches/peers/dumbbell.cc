// The dumbbell in ns-3: `flows` senders left, as many receivers right, ten edges a side, one core link between.
//
//   dumbbell --flows=1000 --duration=30 --warmup=15 --seed=1        prints one JSON object
//   dumbbell --tcp=TcpCubic --queue=FqCoDelQueueDisc                 ns-3's own control and queue discipline; with TcpBbr it paces
//
// Rates in Mbit/s, delays in ms, times in s; where there are two, each link or flow draws between them. Packets carry
// 1000 B of payload and 42 B of headers (TCP 20, IP 20, PPP 2); acknowledgements are 42 B and, where something is missing,
// SACK blocks; timestamps only with another control than Reno. (Without SACK, ns-3.37 sends a sixth of its packets for nothing.) The core's buffer counts
// packets that wait, not the one on the wire. Routes are static, which costs less than nix vectors. CPU time is that of the
// simulated time after the warm-up. Written for ns-3.37 (Debian 12: libns3-dev).

#include <sys/resource.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

// CPU seconds of this process so far.
double Cpu() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Counts {
    std::uint64_t departures = 0;  // packets whose last bit the core has sent, in the whole run
    std::uint64_t departed = 0;    // the same, after the warm-up
    std::uint64_t arrived = 0;     // packets that reached the core, after the warm-up
    std::uint64_t dropped = 0;     // those that its buffer refused
} counts;

double warmup = 0;

bool Counting() { return Simulator::Now().GetSeconds() >= warmup; }

void Departed(Ptr<const Packet>) {
    ++counts.departures;
    counts.departed += Counting();
}
void Arrived(Ptr<const Packet>) { counts.arrived += Counting(); }
void Dropped(Ptr<const Packet>) {
    counts.arrived += Counting();
    counts.dropped += Counting();
}

// The same of a queue discipline.
void Enqueued(Ptr<const QueueDiscItem>) { counts.arrived += Counting(); }
void Refused(Ptr<const QueueDiscItem>, const char*) { Dropped(nullptr); }
void DroppedLater(Ptr<const QueueDiscItem>, const char*) { counts.dropped += Counting(); }

}  // namespace

int main(int argc, char* argv[]) {
    std::uint32_t flows = 1000, edges = 10, buffer = 4, seed = 1;
    double duration = 30, core_rate = 100, core_delay = 100, edge_rate = 100, access_low = 8, access_high = 12;
    double edge_near = 5, edge_far = 15, access_near = 1, access_far = 5, start = 10;
    warmup = 15;
    std::string tcp = "TcpLinuxReno", queue = "DropTail";
    CommandLine command;
    command.AddValue("tcp", "congestion control: TcpLinuxReno, TcpCubic, TcpBbr", tcp);
    command.AddValue("queue", "at the core: DropTail, or a discipline such as FqCoDelQueueDisc", queue);
    command.AddValue("flows", "senders, and receivers", flows);
    command.AddValue("edges", "edge routers a side", edges);
    command.AddValue("buffer", "packets that may wait before the core", buffer);
    command.AddValue("core_rate", "rate of the core", core_rate);
    command.AddValue("core_delay", "its delay", core_delay);
    command.AddValue("edge_rate", "rate of the edge links", edge_rate);
    command.AddValue("edge_near", "their least delay", edge_near);
    command.AddValue("edge_far", "their greatest delay", edge_far);
    command.AddValue("access_low", "least rate of the access links", access_low);
    command.AddValue("access_high", "their greatest rate", access_high);
    command.AddValue("access_near", "their least delay", access_near);
    command.AddValue("access_far", "their greatest delay", access_far);
    command.AddValue("start", "flows start from 0 to this second", start);
    command.AddValue("duration", "simulated seconds", duration);
    command.AddValue("warmup", "statistics start at this second", warmup);
    command.AddValue("seed", "of all draws", seed);
    command.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);

    const auto control = TypeId::LookupByName("ns3::" + tcp);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
    const auto recovery = tcp == "TcpLinuxReno" ? TcpClassicRecovery::GetTypeId() : TcpPrrRecovery::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(recovery));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1000 * 1000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1000 * 1000));
    const bool is_reno = tcp == "TcpLinuxReno";
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(!is_reno));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));

    auto uniform = CreateObject<UniformRandomVariable>();
    const auto milliseconds = [&](double low, double high) {
        return TimeValue(NanoSeconds(static_cast<std::uint64_t>(uniform->GetValue(low, high) * 1e6)));
    };

    NodeContainer hubs(2), edge_left(edges), edge_right(edges), left(flows), right(flows);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    for (const auto& nodes : {hubs, edge_left, edge_right, left, right}) {
        stack.Install(nodes);
    }

    PointToPointHelper wire;
    wire.DisableFlowControl();  // the device's drop-tail queue is the buffer, with no queue discipline before it
    const std::string roomy = "1000000p";
    const auto join = [&](Ptr<Node> one, Ptr<Node> other, double rate_low, double rate_high, TimeValue delay,
                          const std::string& limit, Ipv4AddressHelper& address) {
        const auto rate = static_cast<std::uint64_t>(uniform->GetValue(rate_low, rate_high) * 1e6);
        wire.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
        wire.SetChannelAttribute("Delay", delay);
        wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(limit)));
        const Ipv4InterfaceContainer interfaces = address.Assign(wire.Install(one, other));
        address.NewNetwork();
        return interfaces;
    };
    // With a queue discipline at `one`, before a device that takes a packet when the last has left.
    const auto join_by_discipline = [&](Ptr<Node> one, Ptr<Node> other, TimeValue delay, Ipv4AddressHelper& address) {
        PointToPointHelper held;
        held.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<std::uint64_t>(core_rate * 1e6))));
        held.SetChannelAttribute("Delay", delay);
        held.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize("1p")));
        const NetDeviceContainer devices = held.Install(one, other);
        DynamicCast<PointToPointNetDevice>(devices.Get(1))->GetQueue()->SetMaxSize(QueueSize(roomy));
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::" + queue, "MaxSize", QueueSizeValue(QueueSize(std::to_string(buffer) + "p")));
        const Ptr<QueueDisc> discipline = control.Install(devices.Get(0)).Get(0);
        discipline->TraceConnectWithoutContext("Enqueue", MakeCallback(&Enqueued));
        discipline->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Refused));
        discipline->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&DroppedLater));
        const Ipv4InterfaceContainer interfaces = address.Assign(devices);
        control.Uninstall(devices.Get(1));  // acknowledgements wait in the device
        address.NewNetwork();
        return interfaces;
    };
    // Everything that `from` has no route for goes to the other end of a cable; interface 0 is the loopback.
    const auto route = [&](const Ipv4InterfaceContainer& cable, std::uint32_t from, const char* net, const char* mask) {
        const auto [ip, interface] = cable.Get(from);
        routing.GetStaticRouting(ip)->AddNetworkRouteTo(net, mask, cable.GetAddress(1 - from), interface);
    };
    const char *everywhere = "0.0.0.0", *any = "0.0.0.0", *narrow = "255.255.255.252", *wide = "255.255.0.0";
    Ipv4AddressHelper inner("10.0.0.0", narrow);
    const TimeValue core_time = milliseconds(core_delay, core_delay);
    const std::string limit = std::to_string(buffer) + "p";
    const bool has_discipline = queue != "DropTail";
    const auto core = has_discipline
                          ? join_by_discipline(hubs.Get(0), hubs.Get(1), core_time, inner)
                          : join(hubs.Get(0), hubs.Get(1), core_rate, core_rate, core_time, limit, inner);
    route(core, 0, everywhere, any);
    route(core, 1, everywhere, any);
    std::vector<Ipv4AddressHelper> near, far;  // 10.1.0.0/16 and so on: the hosts of an edge
    for (std::uint32_t edge = 0; edge < edges; ++edge) {
        const std::string before = "10." + std::to_string(1 + edge) + ".0.0";
        const std::string behind = "10." + std::to_string(101 + edge) + ".0.0";
        near.emplace_back(before.c_str(), narrow);
        far.emplace_back(behind.c_str(), narrow);
        const auto between = [&](Ptr<Node> one, Ptr<Node> other) {
            return join(one, other, edge_rate, edge_rate, milliseconds(edge_near, edge_far), roomy, inner);
        };
        const auto to_core = between(edge_left.Get(edge), hubs.Get(0));
        const auto from_core = between(hubs.Get(1), edge_right.Get(edge));
        route(to_core, 0, everywhere, any);
        route(to_core, 1, before.c_str(), wide);
        route(from_core, 0, behind.c_str(), wide);
        route(from_core, 1, everywhere, any);
    }
    std::vector<Ptr<PacketSink>> sinks;
    for (std::uint32_t flow = 0; flow < flows; ++flow) {
        const std::uint32_t edge = static_cast<std::uint64_t>(flow) * edges / flows;
        const auto at_host = [&](Ptr<Node> one, Ptr<Node> other, Ipv4AddressHelper& address) {
            return join(one, other, access_low, access_high, milliseconds(access_near, access_far), roomy, address);
        };
        const auto first = at_host(left.Get(flow), edge_left.Get(edge), near[edge]);
        const auto last = at_host(edge_right.Get(edge), right.Get(flow), far[edge]);
        route(first, 0, everywhere, any);
        route(last, 1, everywhere, any);
        const InetSocketAddress to(last.GetAddress(1), 5000);
        const ApplicationContainer sink = PacketSinkHelper("ns3::TcpSocketFactory", to).Install(right.Get(flow));
        sinks.push_back(DynamicCast<PacketSink>(sink.Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", to);
        source.SetAttribute("SendSize", UintegerValue(1000));
        source.Install(left.Get(flow)).Start(Seconds(uniform->GetValue(0, start)));
    }

    const auto device = DynamicCast<PointToPointNetDevice>(hubs.Get(0)->GetDevice(1));
    device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Departed));
    if (!has_discipline) {
        device->GetQueue()->TraceConnectWithoutContext("Enqueue", MakeCallback(&Arrived));
        device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    }
    std::uint64_t before = 0;
    const auto received = [&] {
        std::uint64_t bytes = 0;
        for (const auto& sink : sinks) {
            bytes += sink->GetTotalRx();
        }
        return bytes;
    };
    double cpu = 0;
    Simulator::Schedule(Seconds(warmup), [&] {
        before = received();
        cpu = Cpu();
    });
    Simulator::Stop(Seconds(duration));
    const double ready = Cpu();
    Simulator::Run();
    const double whole = Cpu() - ready;
    cpu = Cpu() - cpu;
    const double span = duration - warmup;
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const double packets = static_cast<double>(counts.departed);
    std::cout << "{\"packets\": " << counts.departed << ", \"packets_per_s\": " << packets / span
              << ", \"goodput_mean_bps\": " << static_cast<double>(received() - before) * 8 / span / flows
              << ", \"loss_ratio\": " << static_cast<double>(counts.dropped) / static_cast<double>(counts.arrived)
              << ", \"events\": " << Simulator::GetEventCount() << ", \"setup_cpu_s\": " << ready
              << ", \"cpu_s\": " << cpu << ", \"cpu_with_start_s\": " << whole
              << ", \"packets_with_start\": " << counts.departures << ", \"peak_mb\": " << usage.ru_maxrss / 1024
              << "}" << std::endl;
    return 0;
}
