#!/usr/bin/env bash
# The same mistake ends every command with the same exit code, and says what was meant where that can be told.
# mistakes.sh CONVOY; works in a folder of its own; prints one line per broken promise and exits 1 when there is one.
set -uo pipefail
convoy=$(realpath "$1")
good=$(realpath "$(dirname "$0")/../data/corpus/keras/conv2d_same_k3_s2_even")
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
broken=0
promises=0

complain() {
  echo "broken: $*"
  broken=$((broken + 1))
}

# ends CODE SENTENCE COMMAND...: nothing on standard output, one failure on standard error, this exit code.
ends() {
  local wanted=$1 sentence=$2
  shift 2
  promises=$((promises + 1))
  "$convoy" "$@" >said.out 2>said.err </dev/null
  local got=$?
  [ "$got" -eq "$wanted" ] || complain "$sentence ($1): exit code $got, wanted $wanted: $(head -c 300 said.err | head -3)"
  [ ! -s said.out ] || complain "$sentence ($1): prints a result: $(head -c 200 said.out)"
  grep -q '^convoy: ' said.err || complain "$sentence ($1): does not say what is wrong"
}
says() {
  promises=$((promises + 1))
  grep -qF -- "$2" said.err || complain "$1: standard error does not say '$2': $(head -c 300 said.err)"
}

cp "$good/model.keras" good.keras
cp "$good/input_0.npy" x.npy
head -c 3000 good.keras >cut.keras
echo 'this is no model' >words.keras
echo 'x = 1' >empty.py
echo old >there.py
for name in there.keras there.npy there.npz there.json there.html there.svg; do cp there.py $name; done
mkdir folder

# --- the table ------------------------------------------------------------------------------------
# A command with its model in place of MODEL, and what it writes in place of OUT.json, OUT.npy and so on.
commands=(
  "port MODEL --to torch -o out.py"
  "diff MODEL good.keras"
  "diff good.keras MODEL"
  "summary MODEL"
  "run MODEL --input x.npy"
  "weights MODEL"
  "weights MODEL good.keras"
  "pad MODEL"
)
writers=(
  "port good.keras --to torch -o OUT.py"
  "port good.keras -o OUT.keras"
  "port good.keras --to torch -o out.py --report OUT.json"
  "diff good.keras good.keras --html OUT.html"
  "diff good.keras good.keras --report OUT.json"
  "run good.keras --input x.npy -o OUT.npy"
  "weights good.keras -o OUT.npz"
  "weights good.keras good.keras --copy -o OUT.keras"
  "pad Conv2D(8,3) --size 9x10 --svg OUT.svg"
)
sized=(
  "port good.keras --to torch -o out.py"
  "diff good.keras good.keras"
  "summary good.keras"
  "run good.keras --input x.npy"
  "weights good.keras good.keras"
)

for command in port diff summary run weights pad ops; do
  ends 2 "an option that there is not" $command --no-such-option
  says "the option is named" "there is no option '--no-such-option'"
  ends 2 "an option that there is not, with a value" $command --no-such-option=3
  says "the option is named without its value" "there is no option '--no-such-option'"
done
for command in port diff summary run weights; do
  ends 2 "a model that is not given" $command
done
for line in "${commands[@]}"; do
  ends 4 "a file that is missing" ${line/MODEL/nowhere.keras}
  says "the missing file is named" "nowhere.keras"
  ends 4 "a folder where a file is wanted" ${line/MODEL/folder/}
  ends 5 "a file that is cut off" ${line/MODEL/cut.keras}
  says "the broken file is named" "cut.keras"
  ends 5 "a file that is no model" ${line/MODEL/words.keras}
  ends 6 "a program that holds no model" ${line/MODEL/empty.py}
done
ends 2 "a call beside a model" diff 'nn.Conv2d(3, 8, 3)' good.keras
says "what is no call is named" "'good.keras' is no call"
ends 2 "a call that does not close" diff 'nn.Conv2d(3, 8, 3)' 'nn.Conv2d(3, 8, 3'
ends 2 "an option that calls have no use for" diff 'nn.Conv2d(3, 8, 3)' 'nn.Conv2d(3, 8, 3)' --fix -o out
says "the option is named" "--fix"
ends 2 "a call of a name that is nearly one" diff 'nn.Conv2D(3, 8, 3)' 'Conv2D(8, 3)'
says "the near one is offered" "did you mean nn.Conv2d?"
ends 2 "a call of two values" diff 'torch.add(x, y)' 'nn.GELU()'
says "both are named" "reads x and y"
ends 2 "weights that do not fit" diff 'nn.Conv2d(3, 8, 1)' 'layers.Dense(8)'
says "both layers are named" "'layers.Dense(8)'"
ends 2 "a size that no input has" diff 'nn.GELU()' 'nn.ReLU()' --size 3x4x5x6
ends 2 "a shape with a name" diff 'nn.GELU()' 'nn.ReLU()' --shape x=2,3
ends 2 "an option that models have no use for" diff good.keras good.keras --kernel 3
for line in "${writers[@]}"; do
  ends 4 "an output that exists" ${line//OUT/there}
  says "what to do is said" "--force"
  ends 4 "a folder that is not there" ${line//OUT/nowhere/there}
  if [ "$(id -u)" -ne 0 ]; then
    chmod a-w folder
    ends 4 "a folder that takes no file" ${line//OUT/folder/out}
    chmod u+w folder
  else  # nothing is closed to root: a file in place of a folder is what it cannot write below
    ends 4 "a folder that takes no file" ${line//OUT/words.keras/out}
  fi
done
for line in "${sized[@]}"; do
  for size in 3y3 0x3 x -4 3x 2147483648000; do
    ends 2 "a size that is none" $line --size=$size
    says "the option is named" "--size"
  done
  for shape in image=1,b image= =1,2 image=1,,3 image=1,0,3,3 1,b 1, '' image=1,3:int65 1,3: image=:int64; do
    ends 2 "a shape that is none" $line --shape $shape
    says "the option is named" "--shape"
  done
done
for size in 3y3 0x3 x -4 3x; do ends 2 "a size that is none" pad 'Conv2D(8, 3)' --size=$size; done
[ "$(ls)" = "$(printf '%s\n' cut.keras empty.py folder good.keras said.err said.out there.html there.json there.keras there.npy there.npz there.py there.svg words.keras x.npy | LC_ALL=C sort)" ] ||
  complain "a mistake leaves files: $(ls | tr '\n' ' ')"

# --- what was meant -------------------------------------------------------------------------------
ends 2 "a command that there is not" sumary
says "the command is told" "there is no command 'sumary'; did you mean 'summary'?"
ends 2 "a command that nothing is near to" translate
says "help is named" "convoy --help shows all"
ends 2 "an option of one dash" summary good.keras -json
says "the option is told" "there is no option '-json'; did you mean '--json'?"
ends 2 "an option that swallows the model" run --inptu good.keras x.npy
says "the option is told" "did you mean '--input'?"
for pair in pytorch:torch Torch:torch tf:keras tensorflow:keras .h5:keras h5:keras .py:torch py:torch .onnx:onnx onxx:onnx kears:keras; do
  ends 2 "a target that there is not" port good.keras --to ${pair%%:*} -o out
  says "the target is told" "--to ${pair%%:*}: no such target; did you mean '${pair##*:}'?"
done
ends 2 "a target that nothing is near to" port good.keras --to mxnet -o out
says "the targets are told" "no such target; convoy writes torch, keras, onnx and tflite"
ends 2 "an ending that no target has" port good.keras -o out.foo
ends 6 "an ending of a format that is known and not written" port good.keras -o out.mlmodel
ends 6 "a target that is known and not written" port good.keras --to coreml -o out
ends 2 "a layer to cut at" summary good.keras --outputs conv2
says "the layer is told" "did you mean 'conv2d'?"
ends 2 "a layer to explain" pad good.keras con2vd
says "the layer is told" "did you mean 'conv2d'?"
ends 2 "an input's shape" summary good.keras --shape imgae=1,6,6,2
says "the input is told" "did you mean 'image'?"
cp "$(dirname "$good")/bn_default/model.keras" free.keras
ends 2 "a shape of no input, whose sizes are free" summary free.keras --shape nothing=1,6,6,3
ends 2 "another type than the file declares" summary good.keras --shape 1,8,14,3:int64
says "both types" "is said to be int64, and the file declares float32"
ends 2 "a name for a file that asks for none" summary good.keras --set width=3
says "a name for a file that asks for none" "good.keras: --set gives names of source and inputs of ONNX models a value"
ends 2 "arguments for a file that takes none" run good.keras --input x.npy --args 3,4
ends 2 "an input that there is not" run good.keras --input nope=x.npy
says "an input that there is not" "names no input"
ends 2 "a pass to leave out" port good.keras --to torch -o out.py --without move_axis
says "the pass is told" "did you mean 'move_axes'?"
ends 2 "a framework to tell about" pad --about tensorflw
says "the framework is told" "did you mean 'tensorflow'?"
cat >net.py <<'NET'
import torch.nn as nn
net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.Conv2d(2, 5, (2, 4)))
NET
ends 2 "a model of a program" summary net.py:nett --shape 1,3,9,7
says "the model is told" "did you mean 'net'?"
ends 2 "a module of a program" summary net.py --shape 1,3,9,7 --outputs conv
says "where they are listed is told" "convoy summary lists them"

promises=$((promises + 1))
"$convoy" >said.out 2>said.err
[ $? -eq 2 ] || complain "a command line with nothing on it is no usage error"
grep -q "convoy port model.keras" said.out || complain "a command line with nothing on it shows no help"

# A program is cut at its modules as a file is cut at its layers.
promises=$((promises + 1))
"$convoy" summary net.py --shape 1,3,9,7 --outputs 1 | grep -F '[1, 2, 7, 5]' >/dev/null || complain "a module's output is not given"
"$convoy" summary net.py --shape 1,3,9,7 --outputs 1 | grep -F '[1, 5, 6, 2]' >/dev/null && complain "what lies behind the cut stays"

echo "$promises promises, $broken broken"
[ "$broken" -eq 0 ]
