# One TCP-Linux flow over 8 Mbit/s and 50 ms, every packet 1000 B, with forced losses: its window, every 20 ms.
# ns growth.tcl CONTROL "ORDINAL …" SECONDS       ordinals count packets that reach the link, from 0
set control [lindex $argv 0]
set losses [lindex $argv 1]
set seconds [lindex $argv 2]
set ns [new Simulator]
set from [$ns node]
set to [$ns node]
$ns duplex-link $from $to 8Mb 50ms DropTail
$ns queue-limit $from $to 100000
set tcp [new Agent/TCP/Linux]
$tcp set timestamps_ true
$tcp set window_ 100000
$tcp set packetSize_ 960
$ns attach-agent $from $tcp
set sink [new Agent/TCPSink/Sack1/DelAck]
$sink set ts_echo_rfc1323_ true
$ns attach-agent $to $sink
$ns connect $tcp $sink
set ftp [$tcp attach-app FTP]
set loss [new ErrorModel/List]
$loss droplist $losses
$loss drop-target [new Agent/Null]
$ns lossmodel $loss $from $to
proc sample {} {
    global ns tcp
    puts [format "window %.2f %d" [$ns now] [expr int([$tcp set cwnd_])]]
    $ns at [expr [$ns now] + 0.02] sample
}
$ns at 0.0 "$tcp select_ca $control"
$ns at 0.0 "$ftp start"
$ns at 0.01 sample
$ns at $seconds "exit 0"
$ns run
