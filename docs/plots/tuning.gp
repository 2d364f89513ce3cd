# The plots of TUNING.md, from the curves of "digestbench tables --csv NAME".
# Run by "make plots"; the environment has DIGESTBENCH and OUT, a folder.
# No dashes, no superscripts: not every viewer of SVG is right about them.

ctl = "< " . system("echo $DIGESTBENCH") . " tables --csv "
out = system("echo $OUT") . "/"

set datafile separator ","
set terminal svg size 640,400 noenhanced font "sans-serif,13" \
	background "#ffffff"
set linetype 1 lc rgb "#1b6ca8" lw 2
set linetype 2 lc rgb "#c8553d" lw 2
set linetype 3 lc rgb "#3d8b5a" lw 2
set linetype 4 lc rgb "#777777" lw 1
set grid lt 1 lc rgb "#e4e4e4" lw .5
set border 3
set tics nomirror
set key samplen 2 spacing 1.1

# One curve for each k; where they have equal false positives, a line across.
set output out . "wire.svg"
set xlabel "size of the array, bits an object (m/n)"
set ylabel "on the wire, bits an object"
set key right bottom
set xrange [0:64]
set yrange [0:14]
grey = "#777777"
set label "f = 5 %" at 5.6, 6.5 right tc rgb grey
set label "2 %" at 7.8, 8.3 right tc rgb grey
set label "1 %" at 9.9, 9.7 right tc rgb grey
set label "0.5 %" at 12.2, 11 right tc rgb grey
rates = "0.05 0.02 0.01 0.005"
plot for [k = 1:3] ctl . "wire" skip 1 \
	using ($1 == k ? $2 : NaN):3 with lines lt k title sprintf("k = %d", k), \
	for [i = 1:4] ctl . "equal" skip 1 \
	using ($1 == word(rates, i) ? $3 : NaN):4 with linespoints lt 4 \
	pt 7 ps .4 title (i == 1 ? "equal f, k = 1 to 4" : "")
unset label

# The false positives that are best, against what lookups could lose.
set output out . "cost.svg"
set logscale xy
set xlabel "lookups between two updates, times the bytes of a false hit"
set ylabel "best false-positive rate"
set key right top
set xrange [1e5:2e9]
set yrange [1e-7:1]
set xtics ("100 kB" 1e5, "1 MB" 1e6, "10 MB" 1e7, "100 MB" 1e8, "1 GB" 1e9)
set ytics ("100 %%" 1, "10 %%" .1, "1 %%" 1e-2, "0.1 %%" 1e-3, \
	"1e-4" 1e-4, "1e-5" 1e-5, "1e-6" 1e-6, "1e-7" 1e-7)
plot ctl . "cost" skip 1 using 1:5 with lines lt 1 \
	title "array of at most 8 bytes an object", \
	"" skip 1 using 1:3 with lines lt 3 title "memory without limit", \
	"" skip 1 using 1:2 with lines lt 4 title "c n / (ln 2 Q C)"

# What an update takes, against the share of the objects that was replaced.
set output out . "churn.svg"
set xlabel "share of the objects replaced"
set ylabel "update, bits an object"
set key left top
set xrange [1e-4:1]
set yrange [1e-3:1000]
set xtics ("0.01 %%" 1e-4, "0.1 %%" 1e-3, "1 %%" 1e-2, "10 %%" .1, "100 %%" 1)
set ytics ("0.001" 1e-3, "0.01" 1e-2, "0.1" .1, "1" 1, "10" 10, "100" 100, \
	"1000" 1000)
plot ctl . "churn" skip 1 \
	using 1:2 with lines lt 4 title "full digest", \
	"" skip 1 using 1:3 with lines lt 1 lw 1 title "m/n 32, k 3: XOR", \
	"" skip 1 using 1:4 with lines lt 1 title "conditional", \
	"" skip 1 using 1:5 with lines lt 4 notitle, \
	"" skip 1 using 1:6 with lines lt 2 lw 1 title "m/n 64, k 1: XOR", \
	"" skip 1 using 1:7 with lines lt 2 title "conditional"
