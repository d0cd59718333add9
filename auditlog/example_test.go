package auditlog_test

import (
	"context"
	"fmt"
	"os"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz/audit"
)

func Example() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	log, err := auditlog.Open(auditlog.Options{Dir: dir, WritableRoots: []string{"/srv/project"}})
	if err != nil {
		panic(err)
	}
	defer log.Close()

	record := auditlog.Record{
		Fields:  audit.Fields{Owner: "u1", Action: "tool:bash", Capability: "process.execute", Decision: "ESCALATE", Risk: "high"},
		Durable: true,
	}
	for range 2 {
		receipt, err := log.Append(context.Background(), record)
		if err != nil {
			fmt.Println("not recorded, so not done:", err)
			return
		}
		fmt.Println("recorded as number", receipt.Sequence)
	}

	report, err := auditlog.Verify(auditlog.VerifyOptions{Dir: dir, Owner: "u1"})
	fmt.Println(report.OK, report.Records, report.TailPinned, err)
	// Output:
	// recorded as number 0
	// recorded as number 1
	// true 2 true <nil>
}
