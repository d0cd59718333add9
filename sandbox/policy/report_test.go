package policy

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const all = DimLimits<<1 - 1

// TestAssess is the definition of "full".
func TestAssess(t *testing.T) {
	dir := tree(t, "p/.envrc=x", "q")
	tests := map[string]struct {
		backend  string
		enforced Dimension
		p        Policy
		want     Report
	}{
		"everything": {BackendBwrap, all, Policy{}, Report{Backend: "bwrap", Enforcement: Full}},
		"no backend": {BackendNone, all, Policy{}, Report{Backend: "none"}},
		"no name":    {"", all, Policy{}, Report{Backend: "none"}},
		"nothing":    {BackendNative, 0, Policy{}, Report{Backend: "none"}},
		"no metadata": {
			BackendLandlock, all &^ DimMetadata,
			Policy{},
			Report{Backend: "landlock", Enforcement: Partial, NotEnforced: []string{"metadata"}},
		},
		"protect not asked for": {BackendLandlock, all &^ DimProtect, Policy{Roots: []string{dir + "/q"}}, Report{Backend: "landlock", Enforcement: Full}},
		"protect asked for": {
			BackendLandlock, all &^ DimProtect,
			Policy{Roots: []string{dir + "/p"}},
			Report{Backend: "landlock", Enforcement: Partial, NotEnforced: []string{"protect"}},
		},
		"protect given up":    {BackendLandlock, all &^ DimProtect, Policy{Roots: []string{dir + "/p"}, Unprotected: true}, Report{Backend: "landlock", Enforcement: Full}},
		"limits not asked":    {BackendBwrap, all &^ DimLimits, Policy{}, Report{Backend: "bwrap", Enforcement: Full}},
		"limits asked":        {BackendBwrap, all &^ DimLimits, Policy{Limits: Limits{CPUSeconds: 1}}, Report{Backend: "bwrap", Enforcement: Partial, NotEnforced: []string{"limits"}}},
		"read deny not asked": {BackendLandlock, all &^ DimReadDeny, Policy{}, Report{Backend: "landlock", Enforcement: Full}},
		"two": {
			BackendLandlock, all &^ (DimEgress | DimReadDeny),
			Policy{ReadDeny: []string{"/x"}, Egress: Egress{Mode: EgressOpen}},
			Report{Backend: "landlock", Enforcement: Partial, NotEnforced: []string{"readDeny", "egress"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Assess(tt.backend, 0, tt.enforced, tt.p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEveryDimensionCounts takes each dimension away from a policy that asks
// for all of them.
func TestEveryDimensionCounts(t *testing.T) {
	dir := tree(t, "p/.envrc=x")
	p := Policy{Roots: []string{dir + "/p"}, ReadDeny: []string{"/x"}, Limits: Limits{Processes: 1}}
	if got := p.Requested(); got != all {
		t.Fatalf("the policy asks for %v only", got.Names())
	}
	for _, name := range all.Names() {
		d, err := ParseDimension(name)
		if err != nil {
			t.Fatal(err)
		}
		r := Assess(BackendBwrap, 7, all&^d, p)
		if r.Enforcement != Partial || !cmp.Equal(r.NotEnforced, []string{name}) {
			t.Errorf("without %s: %+v", name, r)
		}
	}
	if _, err := ParseDimension("everything"); err == nil {
		t.Error("an unknown dimension was read")
	}
}

func TestAppendJSON(t *testing.T) {
	for _, r := range []Report{
		NoBackend(),
		{Backend: BackendBwrap, Enforcement: Full, ABI: 7},
		{Backend: BackendLandlock, Enforcement: Partial, NotEnforced: []string{"metadata", "egress"}},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON(nil); string(got) != string(want) {
			t.Errorf("AppendJSON = %s, encoding/json says %s", got, want)
		}
		var back Report
		if err := json.Unmarshal(want, &back); err != nil || !cmp.Equal(back, r) {
			t.Errorf("%s reads back as %+v, %v", want, back, err)
		}
	}
	var r Report
	if err := json.Unmarshal([]byte(`{"enforcement":"super"}`), &r); err == nil || r.Enforcement != None {
		t.Errorf("an unknown enforcement gives %v, %v", r.Enforcement, err)
	}
}

func ExampleAssess() {
	p := Policy{Egress: Egress{Mode: EgressOpen}}
	enforced := DimWrites | DimMetadata | DimUnix | DimDescriptors | DimEnvironment | DimSignals | DimKernel
	r := Assess(BackendBwrap, 7, enforced, p)
	fmt.Println(r.Enforcement, r.NotEnforced)
	// Output: partial [egress]
}
