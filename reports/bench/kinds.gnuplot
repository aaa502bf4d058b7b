# Which rendezvous scales. Called by measure, which sets `directory`.
set terminal svg size 900,600 font "sans,14" background "white"
set output directory."/kinds.svg"
set datafile separator ","
set logscale x 2
set logscale y
set xrange [1.5:50000]
set yrange [0.005:60]
set xlabel "nodes"
set ylabel "seconds from the first start until all have their ranks"
set title "Which rendezvous scales, simulated (store: 11 us + 1 ns/byte per request)"
set key outside bottom center horizontal maxcols 5
set grid
csv = directory."/kinds.csv"
backends = "c10d etcd-v2 etcd-v3 etcd static"
variants = "torch-2.x hardened"
colours = "#0060a8 #009e73 #e69f00 #cc79a7 #444444"
# Rows without a time: not all had their ranks, or the run was cut. A curve ends before them.
seconds(b, v) = strcol(16) eq word(backends, b) && strcol(17) eq word(variants, v) && strlen(strcol(19)) ? $19 : 1/0
plot for [v=1:2] for [b=1:5] csv skip 1 using 1:(seconds(b, v)) with linespoints lw 2 dt v pt 7 ps 0.7 \
       lc rgb word(colours, b) title word(backends, b).(v == 2 ? ", hardened" : "")
