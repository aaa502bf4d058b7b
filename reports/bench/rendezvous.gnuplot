# Rendezvous latency over c10d. Called by measure, which sets `directory`.
set terminal svg size 900,560 font "sans,14" background "white"
set output directory."/rendezvous.svg"
set datafile separator ","
set logscale x 2
set logscale y
set xrange [1.5:6000]
set yrange [0.8:1500]
set xlabel "nodes"
set ylabel "seconds from wanting to join to being in"
set title "Rendezvous latency, c10d, simulated (store: 11 us + 1 ns/byte per request)"
set key outside bottom center horizontal
set grid
csv = directory."/rendezvous.csv"
plot 600 with lines dt 2 lw 2 lc "#888888" title "join time-out", \
     csv skip 1 using 1:($4>0?$6:1/0) with linespoints lw 2 pt 7 lc "#0060a8" title "half are in (p50)", \
     "" skip 1 using 1:($4>0?$7:1/0) with linespoints lw 2 pt 5 lc "#009e73" title "99 of 100 are in (p99)", \
     "" skip 1 using 1:($4>0?1/0:600) with points pt 2 ps 2 lw 3 lc "#c02020" title "no agent ever gets in"
