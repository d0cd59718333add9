package schemas_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/steerable-go/sidecar/schemas"
)

func ExampleSet_Check() {
	set := schemas.New()
	err := set.Check(schemas.Params("agent.chat.stream"), []byte(`{"provider":"openai","model":"m","maxRounds":-1}`))
	if violation, ok := errors.AsType[*schemas.ValidationError](err); ok {
		fmt.Println(violation.Pointer, violation.Keyword)
	}
	fmt.Println(err)
	// Output:
	// /maxRounds minimum
	// /maxRounds: must be at least 0
}

func ExampleScan() {
	err := schemas.Scan([]byte(`{"id":7,"method":"system.ping"}`), func(key, value []byte) bool {
		fmt.Printf("%s is %s\n", key, value)
		return true
	})
	fmt.Println(err)
	fmt.Println(schemas.Scan([]byte(`{"id":7,"id":8}`), func(_, _ []byte) bool { return true }))
	// Output:
	// id is 7
	// method is "system.ping"
	// <nil>
	// duplicate member name at byte 13
}

func ExampleCompileTool() {
	tool, err := schemas.CompileTool(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tool.Check([]byte(`{"path":"a.txt"}`)))
	fmt.Println(tool.Check([]byte(`{"path":["a.txt"]}`)))
	// Output:
	// <nil>
	// /path: must be of type string
}
