package mcpresident

// #cgo pkg-config: mcp-resident
// #include <mcp_resident.h>
// #include <stdlib.h>
import "C"

import (
	"time"
	"unsafe"
)

// milliseconds keeps the parts of one, so that nothing is rounded to none.
func milliseconds(duration time.Duration) C.double {
	return C.double(duration) / C.double(time.Millisecond)
}

// text takes a text over from the library.
func text(native C.mcpr_text) (string, bool) {
	if native.data == nil {
		return "", false
	}
	defer C.mcpr_text_free(native)
	// Texts can be longer than the int32 of C.GoStringN.
	return string(unsafe.Slice((*byte)(unsafe.Pointer(native.data)), int(native.length))), true
}

// cString makes a text for the library, and what frees it.
func cString(value string) (*C.char, func()) {
	native := C.CString(value)
	return native, func() { C.free(unsafe.Pointer(native)) }
}

// started makes an error of what a start left behind.
func started(operation C.uint64_t, failure *C.mcpr_error) (uint64, error) {
	if operation == 0 {
		return 0, takeError(failure)
	}
	return uint64(operation), nil
}
