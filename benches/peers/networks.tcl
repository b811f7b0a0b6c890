# Several TCP flows over any links in ns-2 2.35, packet by packet, for tests/test_oracle_ns2_networks.py.
#
#   ns networks.tcl -trace FILE ?-option value?...
#
# links: `FROM TO bit/s seconds packets …`, each a cable, the same both ways; its queue is from FROM to TO.
# flows: `AGENT SINK FROM TO seconds window packets …`, in this order; 0 packets is for ever.
# set: class defaults to set before anything is made, `CLASS VARIABLE VALUE …`.
# drops: ordinals of the first flow's packets to lose as they reach the traced queue, from 0; marks: the same, to mark.
# early: the same, to lose as they reach the first of the links.
# red: what is set of the traced queue, which is RED then, `VARIABLE VALUE …`; its draws are the first of the generator seeded with 1.
# traced: two nodes; what happens at the queue from the one to the other goes to the trace.
#
# Printed: a line a flow, the phase of its clock in seconds (see one_flow.tcl).

array set opt { links {} flows {} set {} drops {} marks {} early {} red {} traced {} duration 10 trace "" }
foreach {key value} $argv {
    set key [string range $key 1 end]
    if {![info exists opt($key)]} {
        puts stderr "networks.tcl: unknown option -$key; known: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header Flags IP TCP
foreach {class variable value} $opt(set) { $class set $variable $value }

set ns [new Simulator]
foreach {from to rate delay queue} $opt(links) {
    foreach end [list $from $to] {
        if {![info exists node($end)]} { set node($end) [$ns node] }
    }
    set kind [expr {[llength $opt(red)] && [list $from $to] eq $opt(traced) ? "RED" : "DropTail"}]
    $ns simplex-link $node($from) $node($to) $rate $delay $kind
    $ns simplex-link $node($to) $node($from) $rate $delay DropTail
    $ns queue-limit $node($from) $node($to) $queue
    $ns queue-limit $node($to) $node($from) 1000000
}
set trace [open $opt(trace) w]
lassign $opt(traced) from to
$ns trace-queue $node($from) $node($to) $trace
foreach {variable value} $opt(red) { [[$ns link $node($from) $node($to)] queue] set $variable $value }
# Loses or marks packets of the first flow as they reach a link.
proc force {ordinals marks from to} {
    global ns node
    if {![llength $ordinals]} return
    set module [new ErrorModule Fid]
    $module default pass
    [$ns link $node($from) $node($to)] errormodule $module
    set list [new ErrorModel/List]
    $list droplist $ordinals
    $list set markecn_ $marks
    $module insert $list
    $module bind $list 1
}
force $opt(drops) false $from $to
force $opt(marks) true $from $to
force $opt(early) false [lindex $opt(links) 0] [lindex $opt(links) 1]

set number 1
foreach {agent sink from to start window packets} $opt(flows) {
    set tcp [$ns create-connection $agent $node($from) $sink $node($to) $number]
    $tcp set window_ $window
    set ftp [$tcp attach-app FTP]
    set seed [expr {12345 * $number}]
    incr number
    $ns at 0.0 "
        \$defaultRNG seed $seed
        puts \[format %.17g \[\$defaultRNG uniform 0 \[$tcp set tcpTick_\]\]\]
        \$defaultRNG seed $seed
        $tcp reset
    "
    $ns at $start [expr {$packets ? "$ftp produce $packets" : "$ftp start"}]
}
$ns at 0.0 { $defaultRNG seed 1 }
$ns at $opt(duration) { close $trace; exit 0 }
$ns run
