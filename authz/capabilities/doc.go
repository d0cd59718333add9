// Package capabilities answers what an owner may do: eleven capabilities that
// every authenticated owner holds, and what membership in a group adds.
//
//	set := capabilities.FromGroups{}.Capabilities(capabilities.NewPrincipal("u1", "prt-admins"))
//	set.Has(capabilities.FileDelete) // true
//
// The base set of eleven expands through the known groups into 25 distinct
// names; the numbers are those of the published pipeline and are held by
// tests. [Source] is the seam for another authority, such as claims in a
// signed token: nothing behind it changes when the source does.
package capabilities
