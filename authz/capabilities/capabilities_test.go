package capabilities

import (
	"maps"
	"slices"
	"testing"

	"github.com/steerable-go/sidecar/authz"
)

// The published numbers: eleven base names expand to 25, of which the groups
// hold 16, 2 and 2.
func TestCounts(t *testing.T) {
	if got := len(base()); got != 11 {
		t.Errorf("base set has %d names, want 11", got)
	}
	for name, want := range map[string]int{"prt-admins": 16, "dashboard-admins": 16, "prt-org-managers": 2, "prt-workspace-managers": 2} {
		if got := distinct(group(name)); got != want {
			t.Errorf("%s holds %d names, want %d", name, got, want)
		}
	}
	all := base()
	for _, name := range []string{"prt-admins", "prt-org-managers", "prt-workspace-managers"} {
		all = append(all, group(name)...)
	}
	if got := distinct(all); got != 25 {
		t.Errorf("all groups give %d names, want 25", got)
	}
}

func distinct(names []authz.Capability) int {
	set := map[authz.Capability]bool{}
	for _, n := range names {
		set[n] = true
	}
	return len(set)
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct {
		name   string
		owner  string
		groups []string
		want   int
		holds  []authz.Capability
		lacks  []authz.Capability
	}{
		{"nobody", "", nil, 0, nil, []authz.Capability{ChatConverse}},
		{"nobody with groups", "", []string{"prt-admins"}, 0, nil, []authz.Capability{ChatConverse, PolicyEdit}},
		{"plain owner", "u1", nil, 11, []authz.Capability{ChatConverse, BrowserAct}, []authz.Capability{EmailSend, FileDelete, NetworkWrite}},
		{"admin", "u1", []string{"prt-admins"}, 25, []authz.Capability{AuditExport, OrgMembersManage, EmailSend}, nil},
		{"alias", "u1", []string{"dashboard-admins"}, 25, []authz.Capability{CredentialRotate}, nil},
		{"org manager", "u1", []string{"prt-org-managers"}, 13, []authz.Capability{OrgSettingsEdit}, []authz.Capability{WorkspaceMembersManage}},
		{"workspace manager", "u1", []string{"prt-workspace-managers"}, 13, []authz.Capability{WorkspaceMembersManage}, []authz.Capability{OrgSettingsEdit}},
		{"both managers", "u1", []string{"prt-org-managers", "prt-workspace-managers"}, 15, nil, []authz.Capability{UserManage}},
		{"repeated and unknown", "u1", []string{"prt-admins", "prt-admins", "nobody", ""}, 25, nil, nil},
		{"no trimming", "u1", []string{" prt-admins", "prt-admins\n"}, 11, nil, nil},
		{"no folding", "u1", []string{"PRT-ADMINS", "Prt-Org-Managers"}, 11, nil, nil},
		{"no prefix", "u1", []string{"prt-admin", "prt-admins2"}, 11, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := FromGroups{}.Capabilities(NewPrincipal(tt.owner, tt.groups...))
			if set.Len() != tt.want {
				t.Errorf("%d capabilities, want %d: %v", set.Len(), tt.want, slices.Collect(set.All()))
			}
			for _, c := range tt.holds {
				if !set.Has(c) {
					t.Errorf("lacks %s", c)
				}
			}
			for _, c := range append(tt.lacks, "", "file.*", "FILE.READ", "file.read ") {
				if set.Has(c) {
					t.Errorf("holds %q", c)
				}
			}
		})
	}
}

func TestValuesAreFrozen(t *testing.T) {
	groups := []string{"prt-admins"}
	p := NewPrincipal("u1", groups...)
	groups[0] = "nobody"
	if got := Expand(p).Len(); got != 25 {
		t.Errorf("changing the caller's slice changed the principal: %d capabilities", got)
	}
	if got := slices.Collect(p.Groups()); p.Owner() != "u1" || !slices.Equal(got, []string{"prt-admins"}) {
		t.Errorf("principal is %q %q", p.Owner(), got)
	}
	set := Expand(p)
	got := slices.Collect(set.All())
	got[0] = "changed"
	if first := slices.Collect(set.All())[0]; first == "changed" {
		t.Error("All handed out the set's own memory")
	}
	if !slices.IsSorted(slices.Collect(set.All())) {
		t.Error("not sorted")
	}
}

// Membership never takes anything away.
func TestGroupsOnlyAdd(t *testing.T) {
	names := []string{"prt-admins", "dashboard-admins", "prt-org-managers", "prt-workspace-managers", "unknown"}
	for mask := range 1 << len(names) {
		var groups []string
		for i, n := range names {
			if mask&(1<<i) != 0 {
				groups = append(groups, n)
			}
		}
		smaller := Expand(NewPrincipal("u1", groups...))
		for _, extra := range names {
			larger := Expand(NewPrincipal("u1", append(slices.Clone(groups), extra)...))
			held := maps.Collect(func(yield func(authz.Capability, bool) bool) {
				for c := range larger.All() {
					if !yield(c, true) {
						return
					}
				}
			})
			for c := range smaller.All() {
				if !held[c] {
					t.Fatalf("adding %s to %v removed %s", extra, groups, c)
				}
			}
		}
	}
}
