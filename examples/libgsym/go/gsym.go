// Package gsym reads and makes GSYM files, by libgsym.
//
// A File may be used by any number of goroutines. Its strings are copies and outlive it.
package gsym

/*
#cgo pkg-config: libgsym
#include <gsym/libgsym.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Error tells why a call failed.
type Error struct {
	Status int    // GSYM_E_... of status.h
	Offset uint64 // in the file, in bytes; errno for GSYM_E_SYSTEM
	Path   string // of the file, "" for none
	Reason string
}

func (e *Error) Error() string {
	text := e.Reason
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Status == C.GSYM_E_FORMAT || e.Status == C.GSYM_E_UNSUPPORTED {
		text += fmt.Sprintf(" at offset %d", e.Offset)
	}
	return text
}

// Frame is a function or an inlined call, and where in the source an address is in it.
type Frame struct {
	Function, Directory, Filename string // "" where unknown
	Offset                        uint64 // from the start of the function or inlined code
	Line                          uint32 // 0: unknown
	Inlined                       bool   // the next frame is the caller
}

// Symbol is a function.
type Symbol struct {
	Name    string
	Address uint64
	Size    uint64 // 0: unknown
	Entry   uint32
}

// Report counts what Convert has done.
type Report struct {
	Functions, FileSize, Warnings, MissingSplitUnits uint64
}

// File is an open GSYM file, or a binary that contains one.
type File struct{ handle *C.gsym_file }

// Open maps a file. It is closed by Close, or when it is garbage.
func Open(path string) (*File, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	file := &File{}
	var failure C.gsym_error
	if status := C.gsym_file_open(name, &file.handle, &failure); status != C.GSYM_OK {
		return nil, newError(&failure)
	}
	runtime.SetFinalizer(file, (*File).Close)
	return file, nil
}

// Close unmaps the file; nothing may be using it.
func (f *File) Close() {
	C.gsym_file_close(f.handle)
	f.handle = nil
	runtime.SetFinalizer(f, nil)
}

// BaseAddress is where the first byte of the binary is at link time.
func (f *File) BaseAddress() uint64 {
	defer runtime.KeepAlive(f) // or it might be closed during the call
	return uint64(C.gsym_file_base_address(f.handle))
}

// UUID is the build id of the binary; empty if unknown.
func (f *File) UUID() []byte {
	defer runtime.KeepAlive(f)
	var size C.size_t
	bytes := C.gsym_file_uuid(f.handle, &size)
	return C.GoBytes(unsafe.Pointer(bytes), C.int(size))
}

// EntryCount is the number of entries.
func (f *File) EntryCount() uint32 {
	defer runtime.KeepAlive(f)
	return uint32(C.gsym_file_entry_count(f.handle))
}

// Lookup returns the frames at a link-time address, innermost first; none if nothing covers
// it.
func (f *File) Lookup(address uint64) ([]Frame, error) {
	defer runtime.KeepAlive(f)
	locations := make([]C.gsym_location, 32)
	for {
		var count C.size_t
		var failure C.gsym_error
		if C.gsym_file_lookup(f.handle, C.uint64_t(address), &locations[0],
			C.size_t(len(locations)), &count, nil, &failure) != C.GSYM_OK {
			return nil, newError(&failure)
		}
		if int(count) <= len(locations) {
			return frames(locations[:count]), nil
		}
		locations = make([]C.gsym_location, count)
	}
}

// Symbols returns the functions of an entry: itself, then those folded into it.
func (f *File) Symbols(entry uint32) ([]Symbol, error) {
	return f.symbols(func(to *C.gsym_symbol, size C.size_t, count *C.size_t,
		failure *C.gsym_error) C.gsym_status {
		return C.gsym_file_symbols(f.handle, C.uint32_t(entry), to, size, count, failure)
	})
}

// Find returns the functions of a linkage name.
func (f *File) Find(name string) ([]Symbol, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return f.symbols(func(to *C.gsym_symbol, size C.size_t, count *C.size_t,
		failure *C.gsym_error) C.gsym_status {
		return C.gsym_file_find(f.handle, text, to, size, count, failure)
	})
}

func (f *File) symbols(call func(*C.gsym_symbol, C.size_t, *C.size_t, *C.gsym_error,
) C.gsym_status) ([]Symbol, error) {
	defer runtime.KeepAlive(f)
	found := make([]C.gsym_symbol, 16)
	for {
		var count C.size_t
		var failure C.gsym_error
		if call(&found[0], C.size_t(len(found)), &count, &failure) != C.GSYM_OK {
			return nil, newError(&failure)
		}
		if int(count) <= len(found) {
			return symbols(found[:count]), nil
		}
		found = make([]C.gsym_symbol, count)
	}
}

// Convert makes a GSYM file of a binary or a Breakpad file.
func Convert(input, output string) (Report, error) {
	from, to := C.CString(input), C.CString(output)
	defer C.free(unsafe.Pointer(from))
	defer C.free(unsafe.Pointer(to))
	var report C.gsym_convert_report
	var failure C.gsym_error
	if C.gsym_convert(from, to, nil, &report, &failure) != C.GSYM_OK {
		return Report{}, newError(&failure)
	}
	return Report{uint64(report.functions), uint64(report.file_size),
		uint64(report.warnings), uint64(report.missing_split_units)}, nil
}

func frames(locations []C.gsym_location) []Frame {
	found := make([]Frame, len(locations))
	for i, each := range locations {
		found[i] = Frame{C.GoString(each.function), C.GoString(each.directory),
			C.GoString(each.filename), uint64(each.offset), uint32(each.line),
			each.inlined != 0}
	}
	return found
}

func symbols(from []C.gsym_symbol) []Symbol {
	found := make([]Symbol, len(from))
	for i, each := range from {
		found[i] = Symbol{C.GoString(each.name), uint64(each.address), uint64(each.size),
			uint32(each.entry)}
	}
	return found
}

func newError(from *C.gsym_error) error {
	path := ""
	if from.path != nil {
		path = C.GoString(from.path)
	}
	return &Error{int(from.status), uint64(from.offset), path, C.GoString(&from.what[0])}
}
