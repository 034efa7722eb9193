#!/usr/bin/env bash
# A function of GHC is in DWARF as long as its first block, and readers call the rest
# by the C function before.
#
# Guess: DW_AT_low_pc and DW_AT_high_pc of a subprogram cover the code of the function, and
#   lexical blocks below it lie inside.
# Seen: the range covers the first block (often the check of the stack alone, 9 bytes); the
#   other blocks are lexical blocks with names that lie *behind* it. Functions that are not
#   exported have no symbol, so GNU and elfutils' addr2line and llvm-symbolizer name such code
#   by the symbol before, here `frame_dummy` of the C runtime, with the right line of the
#   Haskell source. Where the first block has no code, the function's range is empty.
# Versions: ghc 9.0.2, binutils 2.40, elfutils 0.188 (Debian 12), llvm-22 22.1.8.
# Source: seen; "compiler/GHC/CmmToAsm/Dwarf.hs" makes one DIE of each block.
set -euo pipefail

for tool in ghc addr2line eu-addr2line llvm-symbolizer-22 llvm-dwarfdump-22; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > a.hs <<'HASKELL'
module Main where
import System.Environment
twice :: Int -> Int
twice x | x > 100 = x
        | otherwise = twice (x * 2 + 1)
{-# NOINLINE twice #-}
main :: IO ()
main = do
  a <- getArgs
  mapM_ (\v -> print (twice v + length a)) [1..3]
HASKELL
ghc -v0 -g a.hs -o program

llvm-dwarfdump-22 --debug-info program | grep -A 22 '"a.hs"' | python3 -c '
import re, sys

text = sys.stdin.read()
rows = re.findall(r"DW_TAG_(subprogram|lexical_block)|_(?:low|high)_pc\s+\((0x\w+)\)", text)
words = [tag or int(number, 16) for tag, number in rows][2:]  # after those of the unit
function, block = words[1:3], words[4:6]
assert words[0] == "subprogram" and words[3] == "lexical_block"
print("function", function[1] - function[0], "bytes")
print("block begins", block[0] - function[0], "and ends", block[1] - function[0])
print(hex(block[0] + 2), file=open("address", "w"))
' | tee seen
for tool in addr2line eu-addr2line llvm-symbolizer-22; do
  echo "$tool" $("$tool" -f -e program "$(cat address)" | sed "s|.*/||; s|\(hs:[0-9]*\).*|\1|")
done | tee -a seen
diff - seen <<'EXPECTED'
function 9 bytes
block begins 9 and ends 60
addr2line frame_dummy a.hs:5
eu-addr2line frame_dummy a.hs:5
llvm-symbolizer-22 frame_dummy a.hs:5
EXPECTED
