package mcpresident

// #include <mcp_resident.h>
import "C"

import "encoding/json"

// The codes of errors. They are the same in every language.
const (
	CodeConfig        = "config"
	CodeUnknownServer = "unknown_server"
	CodeDisabled      = "disabled"
	CodeSpawn         = "spawn"
	CodeConnect       = "connect"
	CodeNeedsAuth     = "needs_auth"
	CodeProtocol      = "protocol"
	CodeDropped       = "dropped"
	CodeTimeout       = "timeout"
	CodeCancelled     = "cancelled"
	CodeClosed        = "closed"
	CodeForked        = "forked"
	CodeInternal      = "internal"
)

// Error is a failure of loading, starting, restarting, listing or closing. A failed call is a [Result] instead.
type Error struct {
	// Code is the stable code, the same in every language.
	Code string `json:"kind"`
	// Server is the server that failed, or empty when no server did.
	Server string `json:"server"`
	// Message is one line that says what happened and what to do.
	Message string `json:"message"`
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// Is says whether target is an *Error of the same code, so that errors.Is(err, &Error{Code: CodeClosed}) works.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && other.Message == ""
}

func takeError(native *C.mcpr_error) *Error {
	defer C.mcpr_error_free(native)
	failure := &Error{Code: C.GoString(C.mcpr_error_code(native)), Message: C.GoString(C.mcpr_error_message(native))}
	if server := C.mcpr_error_server(native); server != nil {
		failure.Server = C.GoString(server)
	}
	return failure
}

// Codes lists every code of an [Error] and every kind of a failed call, as the library knows them.
func Codes() (errors, failures []string) {
	var codes struct{ Errors, Failures []string }
	listed, _ := text(C.mcpr_codes())
	_ = json.Unmarshal([]byte(listed), &codes)
	return codes.Errors, codes.Failures
}
