#!/usr/bin/env bash
# The command line as a user meets it: exit codes, and what is left on disk when something goes wrong.
# run.sh CONVOY; works in a folder of its own; prints one line per broken promise and exits 1 when there is one.
set -uo pipefail
convoy=$(realpath "$1")
corpus=$(realpath "$(dirname "$0")/../data/corpus/keras")
pairs=$(realpath "$(dirname "$0")/../data/pairs")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
broken=0
promises=0

complain() {
  echo "broken: $*"
  broken=$((broken + 1))
}

# ends CODE "SENTENCE" COMMAND...: the command ends with this exit code.
ends() {
  local wanted=$1 sentence=$2
  shift 2
  promises=$((promises + 1))
  "$@" >said.out 2>said.err </dev/null
  local got=$?
  [ "$got" -eq "$wanted" ] || complain "$sentence: exit code $got, wanted $wanted: $(head -c 300 said.err | head -3)"
}

says() {
  promises=$((promises + 1))
  grep -qF -- "$2" said.err || complain "$1: standard error does not say '$2': $(head -c 300 said.err)"
}

answers() {
  promises=$((promises + 1))
  grep -qF -- "$1" said.out || complain "standard output does not say '$1': $(head -c 300 said.out)"
}

# Nothing but the listed files lies in folder $2.
holds_only() {
  promises=$((promises + 1))
  local sentence=$1 where=$2
  shift 2
  local wanted found
  wanted=$(printf '%s\n' "$@" | sort)
  found=$(find "$where" -mindepth 1 -printf '%f\n' | sort)
  [ "$found" = "$wanted" ] || complain "$sentence: found $(echo $found), wanted $(echo $wanted)"
}

good=$corpus/conv2d_same_k3_s2_even
other=$corpus/convt2d_same_k4_s2
head -c 3000 "$good/model.keras" >cut.keras
head -c 5000 "$good/model.h5" >cut.h5
echo '{"class_name": "Sequential", "config"' >cut.json
echo 'this is no model' >words.keras
mkdir empty out carried

# --- exit codes -----------------------------------------------------------------------------------
ends 0 "a padding is solved for" "$convoy" pad --solve --kernel 5x3 --stride 3x2 --in 50x21 --out 17x11
ends 2 "a size beyond all numbers is a usage error" "$convoy" pad --solve --kernel 3 --in 9223372036854775808
says "the number is named" "--in: 9223372036854775808"
ends 2 "a stride of nothing is a usage error" "$convoy" pad --solve --kernel 3 --stride 0 --in 9
says "the stride is named" "--stride is 0"
ends 2 "a padding that cannot be is a usage error" "$convoy" pad --solve --kernel 3 --in 50 --out 10
says "what would do is said" "stride 5 makes it"
ends 0 "a layer is drawn" "$convoy" pad 'Conv2D(8, (4, 3), strides=(1, 2), padding="same")' --size 9x10 --svg out/windows.svg
ends 4 "a drawing replaces no file" "$convoy" pad 'Conv2D(8, 3)' --size 9x10 --svg out/windows.svg
says "how to replace it is said" "--force"
ends 0 "a drawing replaces a file with --force" "$convoy" pad 'Conv2D(8, 3)' --size 9x10 --svg out/windows.svg --force
ends 2 "a drawing needs a size" "$convoy" pad 'Conv2D(8, 3)' --svg out/none.svg
holds_only "no half of a drawing is left" out windows.svg
rm out/windows.svg
ends 0 "a layer is compared with other words" "$convoy" pad --like 'Conv2D(16, 3, strides=2, padding="same")' --size 24x25
ends 0 "a list of cells is said in other words" "$convoy" pad 'F.pad(x, (1, 2, 3, 4))'
ends 6 "a list that its framework refuses is refused" "$convoy" pad 'tf.pad(x, [[0, 0], [-1, 2]])'
ends 0 "every call in what was pasted is answered" "$convoy" pad $'Why do these differ?\n\nk = 3\nnn.Conv2d(8, 16, k)\n\nMaxPool2D(2, padding=p) of mine'
answers "line 4: nn.Conv2d(8, 16, 3)"
answers "'p'"
ends 2 "what is pasted and holds no answer is a usage error" "$convoy" pad $'first\nnn.MaxPool2d(2, padding=p)'
says "the line is named" "line 2"
ends 2 "text without a call is a usage error" "$convoy" pad $'no code\nat all'
ends 2 "an empty standard input is a usage error" "$convoy" pad -
echo 'F.pad(x, (1, 2, 3, 4))' >call.txt
ends 0 "a call comes on standard input" bash -c '"$0" pad - <call.txt' "$convoy"
ends 0 "a framework is told about" "$convoy" pad --about onnx
ends 2 "an unknown framework is a usage error" "$convoy" pad --about none
ends 2 "a number that is none is a usage error" "$convoy" pad --solve --kernel x --in 5
says "what was written is named" "'x'"
ends 2 "options of unlike rank are a usage error" "$convoy" pad --solve --kernel 3x4x5 --in 3x4
ends 0 "the version is told" "$convoy" --version
ends 0 "help is told" "$convoy" --help
ends 2 "a wrong option is a usage error" "$convoy" port --no-such-option "$good/model.keras"
ends 2 "a wrong command is a usage error" "$convoy" no-such-command
says "what is no command is named" "'no-such-command'"
ends 2 "a port needs a file" "$convoy" port
ends 2 "an option of another target is a usage error" "$convoy" port "$good/model.keras" --to torch -o out/a.py --opset 17
says "the option is named" "--opset says how onnx is written"
ends 2 "an unknown target is a usage error" "$convoy" port "$good/model.keras" --to no-such-format -o out/a.py
ends 4 "a missing file is an input error" "$convoy" port no-such-file.keras --to torch -o out/a.py
says "a missing file is named" no-such-file.keras
ends 4 "a folder is no file" "$convoy" summary empty
for file in cut.keras cut.h5 cut.json words.keras; do
  ends 5 "$file is broken" "$convoy" port "$file" --to torch -o out/a.py
  says "$file is named" "$file"
  ends 5 "$file has no summary" "$convoy" summary "$file"
done
ends 5 "a broken file has no weights" "$convoy" weights cut.h5
ends 6 "a Lambda cannot be carried" "$convoy" port "$corpus/lambda_layer/model.keras" --to torch -o out/a.py
says "a Lambda is named by its layer" ambda
ends 6 "a pass that the target needs cannot be left out" "$convoy" port "$good/model.keras" --to torch -o out/a.py --without move_axes,order_kernels
ends 2 "a pass must exist to be left out" "$convoy" port "$good/model.keras" --to torch -o out/a.py --without no_such_pass
ends 6 "a Lambda in an old file cannot be carried" "$convoy" port "$corpus/old_lambda/model.h5" --to torch -o out/a.py
ends 6 "a class of the user's own cannot be carried" "$convoy" port "$corpus/custom_layer/model.keras" --to torch -o out/a.py
holds_only "a refused port leaves nothing behind" out

# --- what is written --------------------------------------------------------------------------------
ends 0 "a good model is ported" "$convoy" port "$good/model.keras" --to torch -o out/a.py
holds_only "a port is a module, its weights and its check" out a.py a.safetensors a.check.safetensors
ends 0 "--json tells a port" "$convoy" port "$good/model.keras" --to torch -o out/a.py --force --json
grep -q "$(sha256sum <"$good/model.keras" | cut -d' ' -f1)" said.out || complain "--json does not hold the checksum of the source"
before=$(cat out/* | sha256sum)
ends 4 "an existing output is kept" "$convoy" port "$other/model.keras" --to torch -o out/a.py
[ "$before" = "$(cat out/* | sha256sum)" ] || complain "a refused port changed a file"
ends 4 "an output in no folder is an output error" "$convoy" port "$good/model.keras" --to torch -o no/such/folder/a.py
ends 0 "--force replaces the output" "$convoy" port "$other/model.keras" --to torch -o out/a.py --force
[ "$before" != "$(cat out/* | sha256sum)" ] || complain "--force changed nothing"
ends 5 "a broken file with --force is refused" "$convoy" port cut.keras --to torch -o out/a.py --force
holds_only "a refused --force leaves the old set alone" out a.py a.safetensors a.check.safetensors
ends 0 "a model is run" "$convoy" run "$good/model.keras" --input "$good/input_0.npy" -o y.npy
promises=$((promises + 1))
[ "$(head -c 6 y.npy | tail -c 5)" = NUMPY ] || complain "run wrote no .npy"
ends 0 "the plain kernels run it too" "$convoy" run "$good/model.keras" --input "$good/input_0.npy" -o plain.npy --plain
ends 0 "a bench tells every step" "$convoy" bench "$good/model.keras" --runs 2 --plan
answers "GF/s on 1 thread"
answers "conv"
ends 0 "a bench answers in JSON" "$convoy" bench "$good/model.keras" --runs 2 --json -j 2
answers '"median_ms"'
ends 0 "a bench is asked line by line" sh -c "printf 'run 3\nout served.npy\nrss\nquit\n' |
  '$convoy' bench --serve '$good/model.keras' --input '$good/input_0.npy'"
answers '"ready":1'
answers '"ms":['
answers '"ok":1'
answers '"hwm_mb"'
ends 0 "what it served is what run gives" cmp served.npy y.npy
ends 4 "a bench replaces nothing unasked" sh -c "echo out served.npy | '$convoy' bench --serve '$good/model.keras'"
says "the file is told" "served.npy"
ends 0 "a bench replaces what it may" sh -c "echo out served.npy | '$convoy' bench --serve '$good/model.keras' -f"
ends 2 "a bench is asked for what there is not" sh -c "echo jump | '$convoy' bench --serve '$good/model.keras'"
says "the requests are told" "there are run N, out FILE, rss and quit"
ends 0 "several outputs go into one archive" "$convoy" run "$corpus/multi_io/model.keras" \
  --input picture="$corpus/multi_io/input_0.npy" --input meta="$corpus/multi_io/input_1.npy" -o y.npz
for command in summary weights; do
  ends 0 "$command knows a .keras" "$convoy" $command "$good/model.keras"
  ends 0 "$command knows an .h5" "$convoy" $command "$good/model.h5"
done
for form in safetensors npz pt weights.h5; do
  ends 0 "weights are carried into .$form" "$convoy" weights "$good/model.keras" -o "carried/w.$form"
  ends 0 "the carried .$form is listed" "$convoy" weights "carried/w.$form"
done
holds_only "only whole weights files are left" carried w.safetensors w.npz w.pt w.weights.h5
ends 4 "a weights file is kept" "$convoy" weights "$good/model.keras" -o carried/w.npz
ends 0 "--force replaces a weights file" "$convoy" weights "$good/model.keras" -o carried/w.npz --force
ends 2 "weights go into a known kind of file" "$convoy" weights "$good/model.keras" -o carried/w.bin
says "the kinds are named" ".safetensors, .weights.h5, .npz or .pt"
ends 2 "a part that is not there is a usage error" "$convoy" weights "$good/model.keras" -o carried/x.npz --below nowhere
ends 6 "a state_dict has no graph" "$convoy" port carried/w.pt --to torch -o out/b.py
says "the line that saves the graph is said" 'torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2")'
mkdir pages
ends 0 "equal models make a page" "$convoy" diff "$good/model.keras" "$good/model.h5" --html pages/p.html -q
holds_only "a page is one file" pages p.html
ends 4 "a page that exists is kept" "$convoy" diff "$good/model.keras" "$good/model.h5" --html pages/p.html -q
ends 0 "--force replaces a page" "$convoy" diff "$good/model.keras" "$good/model.h5" --html pages/p.html -q --force
ends 4 "a page has a folder" "$convoy" diff "$good/model.keras" "$good/model.h5" --html nowhere/p.html

cp -rL "$pairs/same_s2_as_p1" pair
if [ -f pair/b.onnx ]; then
  ends 2 "--fix needs a folder" "$convoy" diff pair/a.keras pair/b.onnx --fix
  ends 2 "a folder without --fix is a usage error" "$convoy" diff pair/a.keras pair/b.onnx -o mended
  ends 1 "models that differ are mended" "$convoy" diff pair/a.keras pair/b.onnx --fix -o mended -q
  says "the proof is said" "are the same"
  holds_only "a mended model is one file" mended b.onnx
  ends 0 "the mended model is the same" "$convoy" diff pair/a.keras mended/b.onnx -q
  ends 4 "a mended model that exists is kept" "$convoy" diff pair/a.keras pair/b.onnx --fix -o mended -q
  ends 0 "there is nothing to mend in equal models" "$convoy" diff pair/a.keras mended/b.onnx --fix -o other -q
fi

mkdir copied
ends 0 "two models are matched" "$convoy" weights "$good/model.keras" "$good/model.h5"
ends 0 "one model takes the weights of another" "$convoy" weights "$good/model.keras" "$good/model.h5" --copy -o copied/m.keras
holds_only "only the whole copy is left" copied m.keras
ends 4 "a copy that exists is kept" "$convoy" weights "$good/model.keras" "$good/model.h5" --copy -o copied/m.keras
ends 0 "--force replaces a copy" "$convoy" weights "$good/model.keras" "$good/model.h5" --copy -o copied/m.keras --force
ends 2 "a copy is written as what b is" "$convoy" weights "$good/model.keras" "$good/model.h5" --copy -o copied/m.pt
says "what it is written as is named" ".keras, .h5 or .weights.h5"
ends 2 "--copy needs a place" "$convoy" weights "$good/model.keras" "$good/model.h5" --copy
ends 2 "--copy needs two models" "$convoy" weights "$good/model.keras" --copy -o copied/n.keras
ends 3 "models of other layers are not matched" "$convoy" weights "$good/model.keras" "$other/model.keras" --copy -o copied/n.keras
says "the layers are named" "nothing in b stands for 'conv2d' of a"
holds_only "nothing is left of what was refused" copied m.keras

ends 2 "weights for a model that has its own are a usage error" "$convoy" summary "$good/model.keras" --weights none.h5
says "the weights are named" "holds its own weights, so 'none.h5' is not read"
ends 2 "a shape of no input is a usage error" "$convoy" summary "$good/model.keras" --shape nobody=1,2,3,4
says "the inputs are named" "--shape names 'nobody', which is no input of the model; it has '"
ends 2 "an option without a word is a usage error" "$convoy" summary "$good/model.keras" --outputs ''
ends 2 "a size without a word is a usage error" "$convoy" summary "$good/model.keras" --size ''
ends 2 "a size that no input takes is a usage error" "$convoy" summary "$good/model.keras" --size 7
says "what would do is said" "no input takes a --size of 1 axes; say whole shapes with --shape of '"
ends 2 "standard input has no name" "$convoy" port - --to torch
says "how it gets one is said" "name the file with -o"
echo 'x = 1' >net.py
ends 6 "source holds no weights" "$convoy" weights net.py
says "where weights lie is said" "name the file that does"
ends 2 "a name that no tensor lies below is a usage error" "$convoy" weights "$good/model.keras" --below nowhere
ends 0 "a json is read with its weights" "$convoy" summary "$good/model.json" --weights "$good/model.weights.h5"
ends 0 "the operators are listed" "$convoy" ops

# --- certificates -----------------------------------------------------------------------------------
prints() {
  promises=$((promises + 1))
  grep -qF -- "$2" said.out || complain "$1: standard output does not say '$2': $(head -c 400 said.out)"
}
mkdir certified again
ends 0 "a certificate is written" "$convoy" port "$good/model.keras" --to torch -o certified/a.py --report certified/a.json -q
ends 0 "a certificate is written again" "$convoy" port "$good/model.keras" --to torch -o again/a.py --report again/a.json -q
promises=$((promises + 1))
cmp -s certified/a.json again/a.json || complain "the same proof gave another certificate"
ends 0 "a certificate holds" "$convoy" diff --check certified/a.json
prints "files are counted" "files   4 of 4 as they were"
prints "the proof ran again" "run again: the same results"
ends 4 "a certificate is kept" "$convoy" port "$good/model.keras" --to torch -o again/b.py --report again/a.json
holds_only "nothing is written beside a certificate that is kept" again a.py a.safetensors a.check.safetensors a.json
printf x >>certified/a.safetensors
ends 1 "a file that changed is told" "$convoy" diff --check certified/a.json
prints "the changed file is named" "changed  a.safetensors"
rm certified/a.py
ends 1 "a file that is gone is told" "$convoy" diff --check certified/a.json --json
prints "the missing file is named" "missing  a.py"
sed 's/"every_size": false/"every_size": true/' again/a.json >again/claims.json
ends 1 "a result that is not so is told" "$convoy" diff --check again/claims.json
prints "the result is named" "proof.every_size: was true, is false"
ends 5 "no certificate is a broken file" "$convoy" diff --check "$good/model.json"
ends 4 "a missing certificate is an input error" "$convoy" diff --check nowhere.json
ends 2 "a certificate goes alone" "$convoy" diff "$good/model.keras" --check again/a.json
ends 2 "diff wants two models" "$convoy" diff "$good/model.keras"
ends 0 "a comparison is certified" "$convoy" diff "$good/model.keras" "$good/model.h5" --report again/d.json -q
ends 0 "a comparison runs again" "$convoy" diff --check again/d.json
ends 1 "a difference is certified" "$convoy" diff "$good/model.keras" "$other/model.keras" --report again/e.json -q
ends 0 "a difference found again is no change" "$convoy" diff --check again/e.json

# --- where two models part --------------------------------------------------------------------------
pair=$corpus/../../pairs/same_s2_as_p1
ends 0 "a model is the same as itself" "$convoy" diff "$good/model.keras" "$good/model.h5"
ends 0 "the same is said as JSON" "$convoy" diff "$good/model.keras" "$good/model.h5" --json
answers '"schema": 1'
answers '"same": true'
answers '"first": null'
ends 1 "two models that differ end with 1" "$convoy" diff "$pair/a.keras" "$pair/b.onnx"
answers "same_as_symmetric"
ends 1 "the difference is said as JSON" "$convoy" diff "$pair/a.keras" "$pair/b.onnx" --json
for key in schema same first differences layers aligned cause also ratio limit ratio_after_fix fix torch keras certain size; do
  answers "\"$key\""
done
promises=$((promises + 1))
python3 - said.out <<'PYTHON' || complain "the JSON of diff has not the form that docs/diagnosis.md gives"
import json, sys
d = json.load(open(sys.argv[1]))
first = d["first"]
assert d["schema"] == 1 and d["same"] is False and first == d["differences"][0]
assert first["cause"] == "same_as_symmetric" and isinstance(first["also"], list) and set(first["fix"]) == {"torch", "keras"}
assert first["ratio_after_fix"] <= first["limit"] < first["ratio"]
PYTHON
ends 1 "--quiet leaves it to the exit code" "$convoy" diff "$pair/a.keras" "$pair/b.onnx" --quiet
promises=$((promises + 1))
[ ! -s said.out ] || complain "--quiet prints: $(head -c 200 said.out)"
ends 2 "a diff needs two models" "$convoy" diff "$good/model.keras"
ends 2 "a wrong option of diff is a usage error" "$convoy" diff "$good/model.keras" "$good/model.h5" --no-such-option
ends 2 "an input too many is a usage error" "$convoy" diff "$good/model.keras" "$good/model.h5" --input "$good/input_0.npy" --input "$good/input_0.npy"
says "the number of inputs is said" "--input is given 2 times"
ends 2 "another number of inputs is a usage error" "$convoy" diff "$good/model.keras" "$corpus/multi_io/model.keras"
ends 4 "a missing model is an input error" "$convoy" diff "$good/model.keras" no-such-file.onnx
says "the missing model is named" no-such-file.onnx
ends 5 "a cut model is a broken file" "$convoy" diff cut.keras "$good/model.keras"
says "the broken file is named" cut.keras
ends 5 "a broken second model is a broken file" "$convoy" diff "$good/model.keras" words.keras
says "the broken second file is named" words.keras

# --- a full disk ------------------------------------------------------------------------------------
mkdir small
limited() { (trap '' XFSZ; ulimit -f 1; exec "$@"); }
ends 4 "a file that may not grow is an output error" limited "$convoy" port "$good/model.keras" --to torch -o small/a.py
holds_only "a full disk leaves nothing behind" small
cp out/* small
ends 4 "a full disk with --force is an output error" limited "$convoy" port "$good/model.keras" --to torch -o small/a.py --force
promises=$((promises + 1))
diff -r out small >/dev/null || complain "a full disk with --force changed the old set"
promises=$((promises + 1))
if [ -w /dev/full ]; then
  "$convoy" summary "$good/model.keras" >/dev/full 2>said.err
  [ $? -eq 4 ] || complain "standard output on a full disk is no output error"
fi

# --- streams that take nothing ------------------------------------------------------------------------
# What could not be said is an output error, whatever the stream and the command, and never a signal.
unsaid() {
  promises=$((promises + 1))
  local sentence=$1
  shift
  bash -c "$*" bash "$convoy" "$good/model.keras" "$folder" 2>/dev/null </dev/null
  local got=$?
  [ "$got" -eq 4 ] || complain "$sentence: exit code $got, wanted 4"
}
if [ -w /dev/full ]; then
  unsaid "a table on a full disk" '"$1" summary "$2" >/dev/full'
  unsaid "JSON on a full disk" '"$1" summary "$2" --json >/dev/full'
  unsaid "tensors on a full disk" '"$1" weights "$2" >/dev/full'
  unsaid "help on a full disk" '"$1" --help >/dev/full'
  unsaid "a refusal on a full disk" '"$1" summary "$3/words.keras" 2>/dev/full'
  unsaid "a wrong command on a full disk" '"$1" sumary 2>/dev/full'
  unsaid "both on a full disk" '"$1" pad "Conv2D(8, 3)" >/dev/full 2>/dev/full'
fi
unsaid "a table on a closed stream" '"$1" summary "$2" >&-'
unsaid "a refusal on a closed stream" '"$1" summary "$3/words.keras" 2>&-'
unsaid "nothing open at all" '"$1" summary "$2" >&- 2>&- <&-'
unsaid "a reader who has gone" '(sleep 0.3; "$1" ops) 2>/dev/null | true; exit ${PIPESTATUS[0]}'
mkdir closed old_streams
"$convoy" port "$good/model.keras" --to torch -o old_streams/a.py -q
(cd closed && "$convoy" port "$good/model.keras" --to torch -o a.py >&- 2>&- <&-)
promises=$((promises + 1))
cmp -s closed/a.py old_streams/a.py || complain "a port with its streams closed is another one"
(cd closed && "$convoy" port "$good/model.keras" --to torch -o b.py -q >&- 2>&- <&-)
[ $? -eq 0 ] || complain "a port that says nothing needs no streams"

# --- bytes that steer a terminal -------------------------------------------------------------------
bad=$(printf 'a\033[31m\nb\377.keras')
cp "$good/model.keras" "$bad"
for options in "" --json; do
  ends 0 "a file of any name is read $options" "$convoy" summary "$bad" $options
  promises=$((promises + 1))
  ! grep -q "$(printf '[\033\377]')" said.out || complain "a name steers the terminal $options"
done
ends 0 "a file of any name lists its tensors" "$convoy" weights "$bad" --json
ends 0 "a file of any name is ported" "$convoy" port "$bad" --to torch -o closed/c.py --json
printf 'no model' >"$(printf 'w\033o\nconvoy: fine')"
ends 5 "a broken file of any name is refused" "$convoy" summary "$(printf 'w\033o\nconvoy: fine')"
says "its name is written out" 'w\x1bo\nconvoy: fine'

# --- sizes that do not fit --------------------------------------------------------------------------
cat >fixed.py <<'NET'
import torch.nn as nn
net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(72, 4))
NET
ends 2 "a size that no layer takes is a usage error" "$convoy" summary fixed.py --shape 1,3,9,9
says "the layer that fixes it is named" "module '2' (Linear)"
says "and the size that fits" "sizes that fit: 8x8"
ends 0 "the size that was named fits" "$convoy" summary fixed.py --shape 1,3,8,8
ends 2 "a size that a file's kernels do not take has no summary" "$convoy" summary "$corpus/../../../../examples/digits.keras" --size 9x9
says "the layer that fixes it is named" "layer 'digit' (Dense)"
says "and the sizes that fit" "sizes that fit: 5x5 to 8x8"
cat >mean.py <<'NET'
import torch, torch.nn as nn
MEAN = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1, 1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.norm = nn.BatchNorm2d(4)
    def forward(self, t):
        return self.norm(self.conv((t - MEAN) / 127.5)) + torch.arange(4.0).view(4, 1, 1)
NET
ends 0 "constants of a program are no parameters" "$convoy" summary mean.py --shape 1,3,4,4
answers "32 parameters (24 trainable, 8 not)"

# --- shapes without a name ----------------------------------------------------------------------------
pair=$pairs/same_s2_as_p1
for model in "$pair/a.keras" "$corpus/conv2d_same_k3_s2_even/model.h5"; do
  ends 0 "the only input of a Keras model needs no name" "$convoy" summary "$model" --shape 5,6,8,3
  answers "[5, 6, 8, 3]"
done
ends 0 "the only input of an ONNX model needs no name" "$convoy" summary "$corpus/../onnx/conv_same_lower_s2/model.onnx" --shape 5,3,10,14
answers "[5, 3, 10, 14]"
ends 0 "the only input of an exported program needs no name" "$convoy" summary "$pairs/gru_gates/b.pt2" --shape 2,7,3
answers "[2, 7, 3]"
ends 0 "run takes it" "$convoy" run "$good/model.keras" --input "$good/input_0.npy" --shape "$(python3 -c "
import ast, sys
head = open(sys.argv[1], 'rb').read(200)
print(*ast.literal_eval(head[10:head.index(b'\n')].decode())['shape'], sep=',')" "$good/input_0.npy")"
mkdir unnamed
ends 0 "port takes it" "$convoy" port "$pair/a.keras" --shape 2,6,8,3 -o unnamed/a.onnx
ends 0 "diff takes it" "$convoy" diff "$pair/a.keras" "$pair/a.keras" --shape 5,6,8,3 --json
ends 0 "weights takes it" "$convoy" weights "$good/model.keras" "$good/model.h5" --shape 2,6,8,3
ends 2 "channels that no layer takes are a usage error" "$convoy" summary "$pair/a.keras" --shape 5,6,8,2
says "the layer is named" "(Conv2D)"
promises=$((promises + 1))
! grep -q "sizes that fit" said.err || complain "sizes are told where the channels do not fit"
ends 2 "several inputs need names" "$convoy" summary "$corpus/multi_io/model.keras" --shape 1,8,10,3
says "they are told" "--shape without a name is for a model with one input; write NAME= before it: it has 'picture', 'meta'"
ends 2 "and so do those of two models" "$convoy" diff "$corpus/multi_io/model.keras" "$corpus/multi_io/model.keras" --shape 1,8,10,3
ends 0 "the operators are listed as JSON" "$convoy" ops --json
promises=$((promises + 1))
python3 - said.out <<'PYTHON' || complain "the JSON of ops does not hold what its text does"
import json, sys
d = json.load(open(sys.argv[1]))
rows = {row.pop("name"): row for row in d["operators"]}
assert d["schema"] == 1 and rows["conv"] == {t: {"written": True} for t in ("torch", "keras", "onnx", "tflite")}
assert rows["fold"]["keras"] == {"written": True, "by": "lower_patches"}
assert all(cell["written"] or cell["reason"] for row in rows.values() for cell in row.values())
assert "Conv2D" in d["keras_layers"] and {p["name"] for p in d["passes"]["keras"]} > {"move_axes", "fold_padding"}
PYTHON

# --- summary on a terminal ----------------------------------------------------------------------------
ends 2 "a key that nothing is sorted by" "$convoy" summary "$good/model.keras" --sort colour
ends 2 "a depth that is none" "$convoy" summary "$good/model.keras" --depth 0
ends 0 "the dearest first" "$convoy" summary "$corpus/../../../../examples/digits.keras" --sort multiply-adds
promises=$((promises + 1))
[ "$(grep -n 73,728 said.out | cut -d: -f1)" = 5 ] || complain "--sort multiply-adds does not begin with the dearest"
promises=$((promises + 1))
python3 - "$convoy" "$corpus/../../../../examples/digits.keras" <<'PYTHON' || complain "a terminal gets another table than it should"
import fcntl, os, pty, struct, subprocess, sys, termios, threading
END = b"\0"
def on_terminal(columns, **env):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    done = subprocess.Popen([sys.argv[1], "summary", sys.argv[2]], stdout=follower, env=dict(os.environ, TERM="xterm", **env))
    # What the terminal still holds may be lost when its last writer closes it: it stays open, and the end is marked.
    threading.Thread(target=lambda: (done.wait(), os.write(follower, END))).start()
    text = b""
    while not text.endswith(END):
        text += os.read(leader, 65536)
    os.close(follower)
    os.close(leader)
    assert done.wait() == 0
    return text[:-1].decode().replace("\r\n", "\n")
for columns in (70, 100):
    text = on_terminal(columns, NO_COLOR="1")
    assert "\x1b" not in text
    table = text.split("\n\n")[1].split("\n")
    assert max(map(len, table)) <= columns, (columns, table)
assert "256x10" in on_terminal(200, NO_COLOR="1")
text = on_terminal(100, NO_COLOR="")
assert "\x1b[1m  layer" in text
assert "\x1b" not in subprocess.run([sys.argv[1], "summary", sys.argv[2]], capture_output=True, text=True).stdout
PYTHON

# --- imports beside the package --------------------------------------------------------------------
mkdir -p beside/pkg/deep
echo 'N = 9' | tee beside/outside.py beside/pkg/inside.py >/dev/null
touch beside/pkg/__init__.py beside/pkg/deep/__init__.py
net='import torch.nn as nn\nm = nn.Linear(N, 2)\n'
printf "from ..outside import N\n$net" >beside/pkg/up.py
printf "from outside import N\n$net" >beside/pkg/by_name.py
printf "from ...outside import N\n$net" >beside/pkg/deep/up.py
printf "from ..inside import N\n$net" >beside/pkg/deep/fine.py
printf "from pkg.inside import N\n$net" >beside/pkg/deep/named.py
printf "from outside import N\n$net" >beside/plain.py
for name in pkg/up pkg/by_name pkg/deep/up; do
  ends 6 "what lies beside the package is not read by $name" "$convoy" summary beside/$name.py --shape 1,9
done
for name in pkg/deep/fine pkg/deep/named plain; do
  ends 0 "what lies in the package is read by $name" "$convoy" summary beside/$name.py --shape 1,9
done
ends 0 "and what lies beside it where that is allowed" "$convoy" summary beside/pkg/by_name.py --shape 1,9 --allow-root beside
# What is said of reading one model may be said of two.
printf 'import torch.nn as nn\nfrom outside import N\nm = nn.Linear(N, width)\n' >beside/pkg/wide.py
cp beside/pkg/wide.py beside/pkg/again.py
two=(beside/pkg/wide.py beside/pkg/again.py --shape 1,9)
ends 6 "diff reads no other folder unasked" "$convoy" diff "${two[@]}" --set width=3 -q
ends 6 "nor a name that nobody gives" "$convoy" diff "${two[@]}" --allow-root beside -q
ends 0 "diff takes --allow-root and --set" "$convoy" diff "${two[@]}" --allow-root beside --set width=3 --report two.json -q
ends 0 "and a certificate of them runs again" "$convoy" diff --check two.json
ends 1 "calls without windows that differ" "$convoy" diff 'nn.GELU()' 'layers.ReLU()' -q
ends 0 "and some that do not" "$convoy" diff 'nn.GELU()' 'layers.Activation("gelu")' --shape 2,3 -q
ends 2 "two calls have no names" "$convoy" diff 'nn.Conv2d(3, 8, 3)' 'nn.Conv2d(3, 8, 3)' --set width=3
ends 0 "weights of two models take them too" "$convoy" weights "${two[@]}" --allow-root beside --set width=3
quantised=$corpus/../tflite/mobile_int8/model.tflite
ends 0 "diff compares integers as the steps that they are" "$convoy" diff "$quantised" "$quantised" -q
ends 0 "but what they stand for" "$convoy" diff "$quantised" "$quantised" --dequantize -q

# --- killed while writing ---------------------------------------------------------------------------
mkdir killed old new
"$convoy" port "$good/model.keras" --to torch -o old/a.py >/dev/null 2>&1
"$convoy" port "$other/model.keras" --to torch -o new/a.py >/dev/null 2>&1
cp old/* killed
# Between two steps the code names its weights by their content, so that both fit whatever stands beside them.
is_meanwhile() {
  sed -E 's/\.[0-9a-f]{16}\./\./' killed/a.py | cmp -s - new/a.py || return 1
  for named in $(grep -oE '[0-9a-f]{16}(\.check)?\.safetensors' killed/a.py); do
    cmp -s "killed/a.$named" "new/a.${named#*.}" || return 1
  done
}
kills=${CONVOY_KILLS:-60}
for ((i = 0; i < kills; ++i)); do
  "$convoy" port "$other/model.keras" --to torch -o killed/a.py --force >/dev/null 2>&1 &
  child=$!
  sleep "0.0$(printf '%02d' $((i * 40 / kills)))"
  kill -9 "$child" 2>/dev/null
  wait "$child" 2>/dev/null
  for name in a.py a.safetensors a.check.safetensors; do
    promises=$((promises + 1))
    cmp -s "killed/$name" "old/$name" || cmp -s "killed/$name" "new/$name" ||
      { [ "$name" = a.py ] && is_meanwhile; } || complain "kill $i left a torn $name"
  done
  if [ $((i % 7)) -eq 6 ]; then cp old/* killed; fi
done
# Litter younger than an hour could belong to a run that is still going on.
find killed -type f ! -name 'a.*' -exec touch -d '2 hours ago' {} +
ends 0 "a port after kills succeeds" "$convoy" port "$other/model.keras" --to torch -o killed/a.py --force
holds_only "the litter of killed runs is gone after the next one" killed a.py a.safetensors a.check.safetensors

echo "$promises promises, $broken broken"
[ "$broken" -eq 0 ]
