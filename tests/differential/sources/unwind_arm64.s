// Functions with every kind of unwind information of ARM64: tests/unwinding/test_pe_arm_frames.py
// has what clang 19 and lld make of it (lld-link /dll /noentry /machine:arm64).
.text
.globl a1
.seh_proc a1
a1:
stp x19,x20,[sp,#-64]!
.seh_save_regp_x x19,64
str lr,[sp,#16]
.seh_save_reg lr,16
stp d8,d9,[sp,#24]
.seh_save_fregp d8,24
str d10,[sp,#40]
.seh_save_freg d10,40
sub sp,sp,#128
.seh_stackalloc 128
.seh_endprologue
nop
.seh_startepilogue
add sp,sp,#128
.seh_stackalloc 128
ldr d10,[sp,#40]
.seh_save_freg d10,40
ldp d8,d9,[sp,#24]
.seh_save_fregp d8,24
ldr lr,[sp,#16]
.seh_save_reg lr,16
ldp x19,x20,[sp],#64
.seh_save_regp_x x19,64
.seh_endepilogue
ret
.seh_endproc
.globl a2
.seh_proc a2
a2:
stp x19,x20,[sp,#-32]!
.seh_save_regp_x x19,32
stp x21,lr,[sp,#16]
.seh_save_lrpair x21,16
sub sp,sp,#4080
.seh_stackalloc 4080
sub sp,sp,#16
.seh_stackalloc 16
.seh_endprologue
nop
.seh_startepilogue
add sp,sp,#16
.seh_stackalloc 16
add sp,sp,#4080
.seh_stackalloc 4080
ldp x21,lr,[sp,#16]
.seh_save_lrpair x21,16
ldp x19,x20,[sp],#32
.seh_save_regp_x x19,32
.seh_endepilogue
ret
.seh_endproc
.globl a3
.seh_proc a3
a3:
stp x19,x20,[sp,#-80]!
.seh_save_regp_x x19,80
stp x0,x1,[sp,#16]
.seh_nop
stp x2,x3,[sp,#32]
.seh_nop
stp x4,x5,[sp,#48]
.seh_nop
stp x6,x7,[sp,#64]
.seh_nop
stp x29,lr,[sp,#-16]!
.seh_save_fplr_x 16
mov x29,sp
.seh_set_fp
.seh_endprologue
nop
.seh_startepilogue
ldp x29,lr,[sp],#16
.seh_save_fplr_x 16
ldp x19,x20,[sp],#80
.seh_save_regp_x x19,80
.seh_endepilogue
ret
.seh_endproc
.globl a4
.seh_proc a4
a4:
stp x19,x20,[sp,#-16]!
.seh_save_regp_x x19,16
sub sp,sp,#1024
.seh_stackalloc 1024
stp x29,lr,[sp]
.seh_save_fplr 0
mov x29,sp
.seh_set_fp
.seh_endprologue
nop
.seh_startepilogue
ldp x29,lr,[sp]
.seh_save_fplr 0
add sp,sp,#1024
.seh_stackalloc 1024
ldp x19,x20,[sp],#16
.seh_save_regp_x x19,16
.seh_endepilogue
ret
.seh_endproc
.globl a5
.seh_proc a5
a5:
pacibsp
.seh_pac_sign_lr
stp d8,d9,[sp,#-16]!
.seh_save_fregp_x d8,16
stp x29,lr,[sp,#-32]!
.seh_save_fplr_x 32
mov x29,sp
.seh_set_fp
.seh_endprologue
nop
.seh_startepilogue
ldp x29,lr,[sp],#32
.seh_save_fplr_x 32
ldp d8,d9,[sp],#16
.seh_save_fregp_x d8,16
autibsp
.seh_pac_sign_lr
.seh_endepilogue
ret
.seh_endproc
.globl a6
.seh_proc a6
a6:
str lr,[sp,#-16]!
.seh_save_reg_x lr,16
sub sp,sp,#32
.seh_stackalloc 32
.seh_endprologue
nop
.seh_startepilogue
add sp,sp,#32
.seh_stackalloc 32
ldr lr,[sp],#16
.seh_save_reg_x lr,16
.seh_endepilogue
ret
.seh_endproc
.globl a7
.seh_proc a7
a7:
stp x19,x20,[sp,#-48]!
.seh_save_r19r20_x 48
stp x21,x22,[sp,#16]
.seh_save_next
str x23,[sp,#32]
.seh_save_reg x23,32
sub sp,sp,#2, lsl #12
.seh_stackalloc 8192
.seh_endprologue
nop
.seh_startepilogue
add sp,sp,#2, lsl #12
.seh_stackalloc 8192
ldr x23,[sp,#32]
.seh_save_reg x23,32
ldp x21,x22,[sp,#16]
.seh_save_next
ldp x19,x20,[sp],#48
.seh_save_r19r20_x 48
.seh_endepilogue
ret
.seh_endproc
.globl a8
.seh_proc a8
a8:
stp x29,lr,[sp,#-96]!
.seh_save_fplr_x 96
stp x21,x22,[sp,#32]
.seh_save_regp x21,32
str x25,[sp,#48]
.seh_save_reg x25,48
add x29,sp,#16
.seh_add_fp 16
sub sp,sp,#16, lsl #12
.seh_stackalloc 65536
.seh_endprologue
cbz x0,1f
.seh_startepilogue
sub sp,x29,#16
.seh_add_fp 16
ldr x25,[sp,#48]
.seh_save_reg x25,48
ldp x21,x22,[sp,#32]
.seh_save_regp x21,32
ldp x29,lr,[sp],#96
.seh_save_fplr_x 96
.seh_endepilogue
ret
1: bl a1
.seh_startepilogue
sub sp,x29,#16
.seh_add_fp 16
ldr x25,[sp,#48]
.seh_save_reg x25,48
ldp x21,x22,[sp,#32]
.seh_save_regp x21,32
ldp x29,lr,[sp],#96
.seh_save_fplr_x 96
.seh_endepilogue
ret
.seh_endproc
