# Finite transfers in ns-2 2.35, each on a connection and hosts of its own, over one bottleneck.
#
#   ns transfers.tcl FILE      FILE has a line "START PACKETS" a transfer, in seconds; prints a line "FLOW SECONDS" as each completes
#
# 10 Mbit/s, 18 ms, a limit of 20 packets; access links of 100 Mbit/s and 1 ms. Reno, 1000 B and 40 B of header, window 1000.
set ns [new Simulator]
$ns rtproto Manual
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 1000

proc wire {from to rate delay limit} {
    global ns
    $ns duplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to $limit
    $ns queue-limit $to $from 100000000
}
proc default_route {node next} { [$node get-module Manual] add-route-to-adj-node -default $next }
proc route {node target next} {
    global ns
    [$node get-module Manual] add-route [$target set address_] [[$ns link $node $next] head]
}

set left [$ns node]
set right [$ns node]
wire $left $right 10Mb 18ms 20
default_route $left $right
default_route $right $left

Agent/TCP instproc done {} {
    global ns flow_of begun_at
    puts "$flow_of($self) [expr {[$ns now] - $begun_at($self)}]"
}
set file [open [lindex $argv 0]]
set flow 0
while {[gets $file line] >= 0} {
    foreach {side hub} [list l $left r $right] {
        set host($side) [$ns node]
        wire $host($side) $hub 100Mb 1ms 100000000
        default_route $host($side) $hub
        route $hub $host($side) $host($side)
    }
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $host(l) $tcp
    $ns attach-agent $host(r) $sink
    $ns connect $tcp $sink
    set flow_of($tcp) $flow
    set begun_at($tcp) [lindex $line 0]
    $ns at [lindex $line 0] "$tcp advance [lindex $line 1]"
    incr flow
}
close $file
$ns at 200 "exit 0"
$ns run
