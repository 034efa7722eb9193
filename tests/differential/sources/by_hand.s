# Functions that only a line table describes: sized, without a size, with labels, and
# one without a name between them. Assembled with -g.
    .text
    .globl _start, sized, unsized, aligned
    .type _start, @function
_start:
    call sized
    call unsized
    call aligned
    hlt
    .size _start, .-_start

    .type sized, @function
sized:
    mov $1, %eax
inside:
    add $2, %eax
    jne inside
    ret
    .size sized, .-sized

unsized:
    mov $3, %eax
    add $4, %eax
    ret

    .p2align 5
    .type aligned, @function
aligned:
    mov $5, %eax
    xor %ecx, %ecx
    ret
    .size aligned, .-aligned
# Nothing names these.
    mov $6, %eax
    add $7, %eax
    sub $8, %eax
    xor $9, %eax
    and $10, %eax
    ret

    .section .text.other, "ax", @progbits
    .type apart, @function
apart:
    mov $11, %eax
    ret
    .size apart, .-apart
