# The dumbbell of the edge-versus-host paper in ns-2 2.35: n senders left, n receivers right, one core link between.
#
#   ns dumbbell.tcl ?-option value?...        prints one JSON object; options and their defaults are the array below.
#
# Rates in Mbit/s, delays in ms, times in s. A range is {low high}; each link draws its own.
# edges 0 leaves the edge links out: access links then meet the core.
# Routes are set by hand (rtproto Manual): 2,000 nodes are ready in a second.

array set opt {
    flows        1000
    edges        10
    variant      Reno
    payload      1000
    header       1
    buffer       5
    unit         bytes
    window       1000
    singledup    1
    delack       0
    minrto       0.2
    tick         0.01
    overhead     0
    core_rate    100
    core_delay   100
    edge_rate    100
    edge_delay   {5 15}
    access_rate  {8 12}
    access_delay {1 5}
    fast_share   0
    fast_rate    1000
    start        {0 10}
    warmup       100
    duration     400
    seed         1
    slim         1
    parameters   ""
    per_flow     0
}
# buffer: bytes means buffer thousand bytes (queue_in_bytes_, mean_pktsize_ 1000); packets means limit_ itself.
# header 1: payload + 40 B on the wire (useHeaders_); 0: payload only.
# fast_share: this fraction of the hosts (the last ones) has access at fast_rate instead.
# variant: a list is dealt out to the flows in turn; Linux:cubic is TCP-Linux with that control.
# delack 1: receivers acknowledge every second packet.
# overhead: before it sends, a flow waits a uniform random time of so many seconds at most (overhead_).
# slim: leave out the packet headers that nobody uses; ns-2 is a little faster so.
# parameters: a file with lines `link NAME MBIT/S MS` and `start FLOW SECONDS` that replace draws.
# per_flow 1: print the acknowledged packets of each flow in the window as well.

foreach {key value} $argv {
    set key [string range $key 1 end]
    if {![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: unknown option -$key; known: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

if {$opt(slim)} {
    remove-all-packet-headers
    add-packet-header Flags IP TCP
}

# CPU seconds of this process so far (utime + stime of /proc/self/stat, in ticks of 10 ms).
proc cpu {} {
    set file [open /proc/self/stat]
    set fields [split [lindex [split [read $file] )] end]]
    close $file
    return [expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}]
}

set ns [new Simulator]
$ns rtproto Manual
$defaultRNG seed $opt(seed)
set draws [new RNG]
$draws seed [expr {$opt(seed) + 1000}]

proc draw {range} {
    global draws
    if {[llength $range] == 1} { return $range }
    return [$draws uniform [lindex $range 0] [lindex $range 1]]
}

if {$opt(parameters) ne ""} {
    set file [open $opt(parameters)]
    while {[gets $file line] >= 0} {
        switch [lindex $line 0] {
            link  { set given([lindex $line 1]) [lrange $line 2 3] }
            start { set begins([lindex $line 1]) [lindex $line 2] }
        }
    }
    close $file
}

# A duplex link of one rate and delay with buffers that never fill.
proc wire {name from to rate delay} {
    global ns given
    set drawn [list [draw $rate] [draw $delay]]
    if {[info exists given($name)]} { set drawn $given($name) }
    $ns duplex-link $from $to [lindex $drawn 0]Mb [lindex $drawn 1]ms DropTail
    $ns queue-limit $from $to 100000000
    $ns queue-limit $to $from 100000000
}
proc default_route {node next} { [$node get-module Manual] add-route-to-adj-node -default $next }
proc route {node target next} {
    global ns
    [$node get-module Manual] add-route [$target set address_] [[$ns link $node $next] head]
}

Agent/TCP set packetSize_ $opt(payload)
Agent/TCP set useHeaders_ [expr {$opt(header) ? "true" : "false"}]
Agent/TCP set window_ $opt(window)
Agent/TCP set singledup_ $opt(singledup)
Agent/TCP set minrto_ $opt(minrto)
Agent/TCP set tcpTick_ $opt(tick)
Agent/TCP set overhead_ $opt(overhead)

set left [$ns node]
set right [$ns node]
wire core $left $right $opt(core_rate) $opt(core_delay)
set queue [[$ns link $left $right] queue]
$queue set limit_ $opt(buffer)
if {$opt(unit) eq "bytes"} {
    $queue set queue_in_bytes_ true
    $queue set mean_pktsize_ 1000
}
default_route $left $right
default_route $right $left

foreach {side hub} [list l $left r $right] {
    for {set e 0} {$e < $opt(edges)} {incr e} {
        set node($side,$e) [$ns node]
        wire edge.$side.$e $node($side,$e) $hub $opt(edge_rate) $opt(edge_delay)
        default_route $node($side,$e) $hub
    }
}
set first_fast [expr {$opt(flows) - int($opt(fast_share) * $opt(flows) + 0.5)}]
for {set i 0} {$i < $opt(flows)} {incr i} {
    set rate [expr {$i < $first_fast ? $opt(access_rate) : $opt(fast_rate)}]
    foreach {side hub} [list l $left r $right] {
        set host($side) [$ns node]
        set near $hub
        if {$opt(edges) > 0} {
            set near $node($side,[expr {$i * $opt(edges) / $opt(flows)}])
            route $hub $host($side) $near
        }
        wire access.$side.$i $host($side) $near $rate $opt(access_delay)
        default_route $host($side) $near
        route $near $host($side) $host($side)
    }
    foreach {variant control} [split [lindex $opt(variant) [expr {$i % [llength $opt(variant)]}]] :] break
    set tcp($i) [new Agent/TCP[expr {$variant eq "Tahoe" ? "" : "/$variant"}]]
    set sink [new Agent/TCPSink[expr {$variant in {Sack1 Fack Linux} ? "/Sack1" : ""}][expr {$opt(delack) ? "/DelAck" : ""}]]
    if {$variant eq "Linux"} {
        $tcp($i) set timestamps_ true
        $sink set ts_echo_rfc1323_ true
        $ns at 0 "$tcp($i) select_ca $control"
    }
    $ns attach-agent $host(l) $tcp($i)
    $ns attach-agent $host(r) $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    set at [draw $opt(start)]
    if {[info exists begins($i)]} { set at $begins($i) }
    $ns at $at "$ftp start"
}
set monitor [$ns monitor-queue $left $right ""]

# Totals so far. bdepartures_ overflows 32 bits: packets are counted instead.
proc totals {} {
    global tcp opt monitor acked
    set cuts 0; set timeouts 0; set retransmits 0; set delivered 0
    for {set i 0} {$i < $opt(flows)} {incr i} {
        incr cuts [$tcp($i) set ncwndcuts_]
        incr timeouts [$tcp($i) set nrexmit_]
        incr retransmits [$tcp($i) set nrexmitpack_]
        set ack($i) [expr {max(0, [$tcp($i) set ack_])}]
        incr delivered $ack($i)
    }
    return [list arrivals [$monitor set parrivals_] drops [$monitor set pdrops_] departures [$monitor set pdepartures_] \
        cuts $cuts timeouts $timeouts retransmits $retransmits delivered $delivered acks [array get ack]]
}

proc finish {} {
    global opt before ready
    array set from $before
    array set to [totals]
    foreach key {arrivals drops departures cuts timeouts retransmits delivered} {
        set d($key) [expr {$to($key) - $from($key)}]
    }
    set span [expr {double($opt(duration) - $opt(warmup))}]
    set wire [expr {$opt(payload) + ($opt(header) ? 40 : 0)}]
    set out [list \
        throughput_bps [expr {$d(departures) * $wire * 8 / $span}] \
        goodput_mean_bps [expr {$d(delivered) * $opt(payload) * 8 / $span / $opt(flows)}] \
        loss_ratio [expr {double($d(drops)) / max(1, $d(arrivals))}] \
        window_cuts $d(cuts) timeouts $d(timeouts) retransmits $d(retransmits) \
        timeouts_per_cut [expr {double($d(timeouts)) / max(1, $d(cuts))}] \
        core_packets $to(departures) \
        nodes [Node set nn_] \
        setup_cpu_s $ready \
        cpu_s [format %.2f [expr {[cpu] - $ready}]]]
    set fields {}
    foreach {key value} $out { lappend fields "\"$key\": $value" }
    if {$opt(per_flow)} {
        array set a $from(acks)
        array set b $to(acks)
        set counts {}
        for {set i 0} {$i < $opt(flows)} {incr i} { lappend counts [expr {$b($i) - $a($i)}] }
        lappend fields "\"acked_packets\": \[[join $counts {, }]\]"
    }
    puts "{[join $fields {, }]}"
    exit 0
}

set ready [cpu]
$ns at $opt(warmup) { set before [totals] }
$ns at $opt(duration) finish
$ns run
