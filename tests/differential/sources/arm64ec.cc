// What the C library has for calls between ARM64EC and x64 code.
extern "C" {
void* __os_arm64x_check_call;
void* __os_arm64x_check_icall;
void* __os_arm64x_dispatch_call_no_redirect;
void* __os_arm64x_dispatch_ret;
}
