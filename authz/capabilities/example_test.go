package capabilities_test

import (
	"fmt"

	"github.com/steerable-go/sidecar/authz/capabilities"
)

func ExampleExpand() {
	plain := capabilities.Expand(capabilities.NewPrincipal("u1"))
	admin := capabilities.Expand(capabilities.NewPrincipal("u2", "prt-admins"))
	fmt.Println(plain.Len(), plain.Has(capabilities.FileDelete))
	fmt.Println(admin.Len(), admin.Has(capabilities.FileDelete))
	// Output:
	// 11 false
	// 25 true
}
