// One queue discipline of ns-3 before one link, fed packet by packet.
//
//   disciplines --discipline=ns3::CoDelQueueDisc --rate=8000000 --ecn=0 < arrivals        prints one JSON object
//
// A line of standard input is an arrival: its time in nanoseconds, its bytes on the wire, its flow. The discipline stands alone, with
// no device behind it that would hold packets: the wire takes the next packet when the last bit of the one before has left.
// Written for ns-3.37 (Debian 12: libns3-dev).

#include <cstdint>
#include <iostream>
#include <string>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

Ptr<QueueDisc> discipline;
double rate = 8e6;
bool ecn = false, busy = false;
std::uint64_t arrived = 0, left = 0, bytes_left = 0;
double delays = 0;  // s, of packets that have left

void Leave() {
    const Ptr<QueueDiscItem> item = discipline->Dequeue();
    busy = item != nullptr;
    if (!busy) {
        return;
    }
    const Time service = NanoSeconds(static_cast<std::uint64_t>(item->GetSize() * 8e9 / rate));
    ++left;
    bytes_left += item->GetSize();
    delays += (Simulator::Now() + service - item->GetTimeStamp()).GetSeconds();
    Simulator::Schedule(service, &Leave);
}

void Arrive(std::uint32_t bytes, std::uint16_t flow) {
    ++arrived;
    const Ptr<Packet> packet = Create<Packet>(bytes - 28);
    UdpHeader udp;
    udp.SetSourcePort(5000 + 101 * flow);  // no two share a queue of FQ-CoDel
    udp.SetDestinationPort(5000);
    packet->AddHeader(udp);
    Ipv4Header ip;
    ip.SetSource(Ipv4Address("10.0.0.1"));
    ip.SetDestination(Ipv4Address("10.0.0.2"));
    ip.SetProtocol(17);
    ip.SetPayloadSize(packet->GetSize());
    ip.SetEcn(ecn ? Ipv4Header::ECN_ECT0 : Ipv4Header::ECN_NotECT);
    const auto item = Create<Ipv4QueueDiscItem>(packet, Address(), 0x0800, ip);
    item->SetTimeStamp(Simulator::Now());
    discipline->Enqueue(item);
    if (!busy) {
        Leave();
    }
}

}  // namespace

int main(int argc, char* argv[]) {
    std::string type = "ns3::CoDelQueueDisc";
    std::uint32_t seed = 1;
    CommandLine command;
    command.AddValue("discipline", "its type; its attributes in brackets", type);
    command.AddValue("rate", "of the wire, bit/s", rate);
    command.AddValue("ecn", "packets can be marked", ecn);
    command.AddValue("seed", "of its draws", seed);
    command.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    ObjectFactory factory;
    std::istringstream(type) >> factory;
    discipline = factory.Create<QueueDisc>();
    if (const auto fair = DynamicCast<FqCoDelQueueDisc>(discipline)) {
        fair->SetQuantum(1514);  // of a device's MTU else, and there is none
    }
    discipline->Initialize();
    std::uint64_t at, last = 0;
    std::uint32_t bytes;
    std::uint16_t flow;
    while (std::cin >> at >> bytes >> flow) {
        Simulator::Schedule(NanoSeconds(at), &Arrive, bytes, flow);
        last = at;
    }
    Simulator::Stop(NanoSeconds(last));
    Simulator::Run();
    const QueueDisc::Stats& stats = discipline->GetStats();
    std::cout << "{\"arrived\": " << arrived << ", \"dropped\": " << stats.nTotalDroppedPackets
              << ", \"marked\": " << stats.nTotalMarkedPackets << ", \"left\": " << left << ", \"delay_mean_s\": " << delays / left
              << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
