#!/bin/sh
# calls.sh PAGE: the page that the build makes of the libraries (cmake/calls.sh) has each library, and tells what is modelled
# from what ends the program.
page=$1 bad=0
listed() { # LIBRARY CALL TITLE
    awk -v library="## $1" -v title="$3:" 'index($0, "## ") == 1 { here = index($0, library) == 1 } here && $1 == title' "$page" |
        grep -qF "\`$2\`" || { echo "$1: $2 is not listed as $3"; bad=1; }
}
listed libcudart.so.13 cudaMalloc Modelled
listed libcudart.so.13 cudaImportExternalMemory Missing
listed libcudart.so.12 cudaThreadSynchronize Modelled
listed libcudart.so.12 cudaMalloc Modelled
listed libcuda.so.1 cuLaunchKernel Modelled
listed libcublas.so.13 cublasSgemm_v2 Modelled
listed libcublas.so.12 cublasAlloc Missing
listed libcufft.so.12 cufftXtExec Modelled
listed libcufft.so.12 cufftPlan1d Missing
listed libcurand.so.10 curandCreateGenerator Missing
listed libcudnn.so.9 cudnnConvolutionForward Modelled
listed libcupti.so.13 cuptiActivityEnable Modelled
! grep -q '[A-Za-z0-9]\(_64\|_ptsz\)`' "$page" || { echo "forms are listed"; bad=1; }
[ $bad = 0 ] && echo "calls: $(grep -c '^## ' "$page") libraries listed"
exit $bad
