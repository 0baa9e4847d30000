#!/bin/sh
# What tools/dev/gpu-check packs, unpacked elsewhere: on this machine, and in a root that holds nothing else, without network.
# usage: bundle.sh PPSIM FOLDER_OF_THE_STAND-IN|none BUILD
. tests/cuda/common.sh
needs_standin
check=$root/tools/dev/gpu-check
ln -s "$build" "$scratch/the build"
export PPSIM_BUILD="$scratch/the build" PPSIM_MODULE_DIR="$modules"
cd "$scratch" || exit 1
mkdir bin
export PATH="$scratch/bin:$PATH"

"$check" --bundle bundle.tar && tar xf bundle.tar && rm bundle.tar || wrong "no bundle"
[ -z "$(find ppsim-gpu -type l)" ] || wrong "links in the bundle"
# What was unpacked, by itself and without network, where that can be had. Test gpu.check runs the other steps.
mkdir unpacked
for step in interleaved-verify zbv-verify bf16-verify wire-verify 1f1b interleaved zbv planned; do
    echo 0 >unpacked/compute-$step.status
done
network=
! unshare -rn true 2>/dev/null || network='unshare -rn'
env -i PATH="$PATH" GPU_CHECK_TRIAL=1 GPU_CHECK_PROBES=nccl-link STANDIN_GPUS=1 $network ppsim-gpu/gpu-check unpacked >table 2>err &&
    grep -q '^| probe-nccl-link | 0 |' table && grep -q 'near compute cpu in double' unpacked/compute-1f1b-verify.out ||
    wrong "the bundle where it was unpacked: $(cat err table)"
# The C library is the machine's own, unless that is older than the one carried, or none that says its version.
used() { LD_DEBUG=files ppsim-gpu/ppsim --version 2>&1 | sed -n 's/.*calling init: \(.*\/libc\.so\.6\)$/\1/p' | tail -n 1; }
[ "$(used)" != "$scratch/ppsim-gpu/libc/libc.so.6" ] || wrong "the machine has this C library itself"
for said in 'echo "glibc 2.4"' 'exit 1'; do
    printf '#!/bin/sh\n%s\n' "$said" >bin/getconf && chmod +x bin/getconf
    [ "$(used)" = "$scratch/ppsim-gpu/libc/libc.so.6" ] || wrong "$said: the C library is not the one carried: $(used)"
done
rm bin/getconf
# --small leaves out what a machine with CUDA has, and takes it from where PyTorch or the loader has it.
mkdir fake
printf '#!/bin/sh\n' >bin/ldconfig && chmod +x bin/ldconfig # without OpenBLAS, which takes long to pack
printf 'int none;\n' >fake/none.c
for name in libcudart.so.13 libcublasLt.so.13 libnccl.so.2 libother.so.1; do
    cc -shared -fPIC -Wl,-soname,$name -o fake/$name fake/none.c || wrong "no $name"
done
cc -shared -fPIC -Wl,--no-as-needed -Wl,-rpath,"$scratch/fake" -o fake/ppsim_cuda.so fake/none.c fake/lib*.so* || wrong "no module"
export PPSIM_MODULE_DIR="$scratch/fake"
"$check" --bundle small.tar.gz --small && mkdir small && tar -C small -xzf small.tar.gz || wrong "no small bundle"
(cd small/ppsim-gpu/lib && ls) | grep -E 'cudart|cublas|nccl' && wrong "--small carries them"
[ -e small/ppsim-gpu/lib/libother.so.1 ] || wrong "--small does not carry the others"
"$check" --bundle x.tar.gz --tiny 2>err
[ $? -eq 2 ] || wrong "an unknown option of --bundle"
mkdir -p site/nvidia/cu13/lib site/nvidia/nccl/lib
mv fake/libnccl.so.2 site/nvidia/nccl/lib
"$check" --bundle x.tar.gz 2>err
[ $? -eq 4 ] && grep -q 'cannot be packed: libnccl.so.2 $' err || wrong "a library that is not found: $(cat err)"
"$check" --bundle x.tar --small || wrong "a library that is not carried need not be there"
mv fake/libother.so.1 site
"$check" --bundle x.tar --small 2>err
[ $? -eq 4 ] && grep -q 'cannot be packed: libother.so.1 $' err || wrong "--small, a library that is not found: $(cat err)"
printf '#!/bin/sh\necho "%s"\n' "$scratch/site" >bin/python3
printf '#!/bin/sh\necho "$LD_LIBRARY_PATH:"\n' >small/ppsim-gpu/bin/ppsim
chmod +x bin/python3
LD_LIBRARY_PATH=/the/driver CUDA_HOME=/the/cuda small/ppsim-gpu/ppsim >path
for folder in "$scratch/small/ppsim-gpu/lib" /the/driver /the/cuda/lib64 "$scratch/site/nvidia/cu13/lib" "$scratch/site/nvidia/nccl/lib"; do
    grep -qF "$folder:" path || wrong "$folder is not looked into: $(cat path)"
done
grep -q "^$scratch/small/ppsim-gpu/lib:" path || wrong "what is carried comes first: $(cat path)"
rm bin/ldconfig
unset PPSIM_MODULE_DIR

# In a root that holds nothing else.
mkdir -p ppsim-gpu/dev/shm ppsim-gpu/proc
if ! chroot ppsim-gpu /libc/ld.so --library-path /libc:/lib /bin/ppsim --version >out.txt 2>&1; then
    [ "$(id -u)" -ne 0 ] || wrong "in an empty root: $(cat out.txt)"
    [ "$failed" -eq 0 ] && echo "not tried: the bundle in an empty root, which needs root"
    exit $failed
fi
alone() { env -i PPSIM_MODULE_DIR=/lib $network /usr/sbin/chroot ppsim-gpu /libc/ld.so --library-path /libc:/lib /bin/ppsim "$@" >out.txt 2>&1; }
alone list transports
grep -q '^nccl .*one rank per GPU' out.txt || wrong "list transports in an empty root: $(cat out.txt)"
job='--schedule zbv --pp 2 --microbatches 4 --costs F=1ms,I=1ms,W=1ms --transport nccl --iterations 1'
alone run $job --compute cpu --verify || wrong "in an empty root: $(cat out.txt)"
alone calibrate --quick --budget 100ms --probe gpu-launch -o /p.json && grep -q '"class": "launch"' ppsim-gpu/p.json ||
    wrong "a probe in an empty root: $(cat out.txt)"
# The same with NVIDIA's own libraries: they load, and say what is missing.
if [ -f "$build/ppsim_cuda.so" ] && ! [ -e /dev/nvidiactl ]; then
    rm -r ppsim-gpu
    mkfifo real.tar # 1 GB is written once
    tar x <real.tar &
    PPSIM_MODULE_DIR=$build "$check" --bundle real.tar || { wrong "no bundle with NVIDIA's libraries"; kill $!; }
    wait $! || wrong "NVIDIA's libraries are not unpacked"
    mkdir ppsim-gpu/proc
    alone run $job
    [ $? -eq 4 ] && grep -q 'no NVIDIA driver' out.txt || wrong "NVIDIA's libraries in an empty root: $(cat out.txt)"
    # And gpu-check itself, beside a shell and its commands.
    mkdir ppsim-gpu/lib64 ppsim-gpu/dev
    : >ppsim-gpu/dev/null
    cp -L /lib64/ld-linux-x86-64.so.2 ppsim-gpu/lib64
    for name in sh sed dirname getconf sort tail ls mkdir grep cat date; do
        cp "$(readlink -f "$(command -v $name)")" ppsim-gpu/bin/$name
        ldd ppsim-gpu/bin/$name | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r library; do
            [ -e "ppsim-gpu/libc/${library##*/}" ] || cp "$library" ppsim-gpu/lib
        done
    done
    env -i PATH=/bin LD_LIBRARY_PATH=/libc:/lib $network /usr/sbin/chroot ppsim-gpu /bin/sh /gpu-check /out >out.txt 2>&1
    [ $? -eq 4 ] && grep -qx 'gpu-check: this machine has no NVIDIA driver.*' out.txt || wrong "gpu-check beside a shell: $(cat out.txt)"
else
    echo "not tried: a bundle with NVIDIA's libraries"
fi
exit $failed
