# One TCP flow over two links in ns-2 2.35, packet by packet, for tests/oracles/ns2/.
#
#   ns one_flow.tcl -trace FILE ?-option value?...      one_flow.py drives it and turns the trace into CSV.
#
#   host --- 8 Mbit/s, 0 ms --- router --- 800 kbit/s, 100 ms, drop-tail of `queue` packets --- host
#
# These are the defaults of first (bit/s), second (bit/s) and delay (s); first_delay is that of the first link (s).
#
# control: what TCP-Linux runs (variant Linux). It times by milliseconds, whatever tcpTick_ is.
#
# set: class defaults to set before anything is made, `CLASS VARIABLE VALUE …`.
# sink: the receiver's class. packets: what the application sends, 0 for ever.
#
# drops: ordinals of the packets to lose as they reach the second link, from 0, the SYN included, before its queue.
#
# Tick phase: ns-2 times a round trip on a clock of tcpTick_ whose phase, boot_time_, each agent draws from
# uniform(0, tcpTick_) when it is reset. It is bound to no Tcl variable, so the default generator is seeded, asked for
# the number that it is about to give, seeded again, and the agent reset: the phase is printed, in seconds.
#
# vars: a file for cwnd_, ssthresh_, srtt_, rttvar_, backoff_, dupacks_ at every change, to find out why.

array set opt {
    variant     Reno
    control     ""
    singledup   1
    window      20
    payload     1000
    first       8000000
    first_delay 0
    second      800000
    delay       0.1
    queue       100
    drops       {}
    start       0.1
    duration    20
    seed        1
    minrto      0.2
    set         {}
    sink        TCPSink
    packets     0
    trace       ""
    vars        ""
}
foreach {key value} $argv {
    set key [string range $key 1 end]
    if {![info exists opt($key)]} {
        puts stderr "one_flow.tcl: unknown option -$key; known: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header Flags IP TCP
Agent/TCP set packetSize_ $opt(payload)
Agent/TCP set window_ $opt(window)
Agent/TCP set singledup_ $opt(singledup)
Agent/TCP set minrto_ $opt(minrto)
foreach {class variable value} $opt(set) { $class set $variable $value }

set ns [new Simulator]
set host [$ns node]
set router [$ns node]
set far [$ns node]
$ns duplex-link $host $router $opt(first) $opt(first_delay) DropTail
$ns duplex-link $router $far $opt(second) $opt(delay) DropTail
foreach {from to} [list $host $router $router $host $far $router] { $ns queue-limit $from $to 1000000 }
$ns queue-limit $router $far $opt(queue)

set trace [open $opt(trace) w]
$ns trace-queue $router $far $trace
$ns trace-queue $router $host $trace

if {[llength $opt(drops)]} {
    set module [new ErrorModule Fid]
    [$ns link $router $far] errormodule $module
    set list [new ErrorModel/List]
    $list droplist $opt(drops)
    $module insert $list
    $module bind $list 1
}

set agent TCP[expr {$opt(variant) eq "Tahoe" ? "" : "/$opt(variant)"}]
set tcp [$ns create-connection $agent $host $opt(sink) $far 1]
set ftp [new Application/FTP]
$ftp attach-agent $tcp
if {$opt(vars) ne ""} {
    set vars [open $opt(vars) w]
    $tcp attach $vars
    foreach variable {cwnd_ ssthresh_ srtt_ rttvar_ backoff_ dupacks_} { $tcp trace $variable }
}

$ns at 0.0 {
    $defaultRNG seed $opt(seed)
    puts [format %.17g [$defaultRNG uniform 0 [$tcp set tcpTick_]]]
    $defaultRNG seed $opt(seed)
    $tcp reset
    if {$opt(control) ne ""} { $tcp select_ca $opt(control) }
}
$ns at $opt(start) [expr {$opt(packets) ? "$ftp produce $opt(packets)" : "$ftp start"}]
$ns at $opt(duration) { close $trace; if {$opt(vars) ne ""} { close $vars }; exit 0 }
$ns run
