#!/usr/bin/env bash
# GNU ld -relax for SuperH moves functions together and leaves each its old size.
#
# Guess: a linker that removes bytes of a function makes its symbol smaller, as GNU ld does for AVR.
# Seen: the values of the symbols move, st_size stays. A call by a constant in the text becomes a
#   BSR, the load and the constant go, 8 bytes, and `first` still has 20: it covers `second` whole.
# Versions: binutils-sh4-linux-gnu 2.40-2, binutils-avr 2.26.20160125+Atmel3.6.2-4 (Debian 12).
# Source: seen.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in binutils-sh4-linux-gnu=2.40-2 binutils-avr=2.26.20160125+Atmel3.6.2-4 \
    libbinutils=2.40-2; do
  apt-get download -qq -o APT::Sandbox::User=root "$package" 2>/dev/null \
    || { echo "not available: $package"; exit 77; }
done
for archive in *.deb; do dpkg-deb -x "$archive" debian; done
export LD_LIBRARY_PATH=$folder/debian/usr/lib/x86_64-linux-gnu PATH=$folder/debian/usr/bin:$PATH

cat > sh4.s <<'S'
	.global first, second
	.type first, @function
first:
	sts.l pr, @-r15
.Lload:	mov.l .Lone, r0
	.uses .Lload
	jsr @r0
	nop
	lds.l @r15+, pr
	rts
	nop
	.align 2
.Lone:	.long second
	.size first, .-first
	.type second, @function
second:
	rts
	mov #2, r0
	.size second, .-second
S
cat > avr.s <<'S'
	.global first, second
	.type first, @function
first:	call second
	ret
	.size first, .-first
	.type second, @function
second:	ret
	.size second, .-second
S
sizes() { "$1-nm" -nS "$2" | awk '$4 ~ /^(first|second)$/ { print $4, $1, $2 }' | paste -sd ' '; }
sh4-linux-gnu-as --relax -o sh4.o sh4.s
avr-as -mmcu=avr5 --mlink-relax -o avr.o avr.s
seen=$(for option in "" -relax; do
  sh4-linux-gnu-ld ${option:+"$option"} -Ttext=0x1000 -e first -o sh4 sh4.o
  avr-ld ${option:+"-$option"} -mavr5 -Ttext=0x1000 -e first -o avr avr.o
  echo "sh4$option: $(sizes sh4-linux-gnu sh4)"
  echo "avr$option: $(sizes avr avr)"
done)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
sh4: first 00001000 00000014 second 00001014 00000004
avr: first 00001000 00000006 second 00001006 00000002
sh4-relax: first 00001000 00000014 second 0000100c 00000004
avr-relax: first 00001000 00000004 second 00001004 00000002
EXPECTED
