package capabilities

import "github.com/steerable-go/sidecar/authz"

// The base set: seven inherited, then four for email triage and browser
// sessions. Every owner holds them.
const (
	ChatConverse   authz.Capability = "chat.converse"
	MemoryRead     authz.Capability = "memory.read"
	MemoryWrite    authz.Capability = "memory.write"
	FileRead       authz.Capability = "file.read"
	FileWrite      authz.Capability = "file.write"
	ProcessExecute authz.Capability = "process.execute"
	WebRead        authz.Capability = "web.read"

	EmailRead   authz.Capability = "email.read"
	EmailDraft  authz.Capability = "email.draft"
	BrowserOpen authz.Capability = "browser.open"
	BrowserAct  authz.Capability = "browser.act"
)

// What only administrators add.
const (
	EmailSend        authz.Capability = "email.send"
	EmailDelete      authz.Capability = "email.delete"
	FileDelete       authz.Capability = "file.delete"
	NetworkWrite     authz.Capability = "network.write"
	EgressWiden      authz.Capability = "egress.widen"
	PolicyEdit       authz.Capability = "policy.edit"
	AuditRead        authz.Capability = "audit.read"
	AuditExport      authz.Capability = "audit.export"
	UserManage       authz.Capability = "user.manage"
	CredentialRotate authz.Capability = "credential.rotate"
)

// What the two manager groups add; administrators hold these too.
const (
	OrgMembersManage       authz.Capability = "org.members.manage"
	OrgSettingsEdit        authz.Capability = "org.settings.edit"
	WorkspaceMembersManage authz.Capability = "workspace.members.manage"
	WorkspaceSettingsEdit  authz.Capability = "workspace.settings.edit"
)

// base returns the capabilities of every owner.
func base() []authz.Capability {
	return []authz.Capability{
		ChatConverse, MemoryRead, MemoryWrite, FileRead, FileWrite, ProcessExecute, WebRead,
		EmailRead, EmailDraft, BrowserOpen, BrowserAct,
	}
}

// group returns what membership in the named group adds, nothing for a name
// it does not know. Names are exact: " prt-admins" is another, unknown group.
func group(name string) []authz.Capability {
	switch name {
	case "prt-admins", "dashboard-admins":
		// Two base names are repeated so that a deployment which narrows
		// the base set does not lock its administrators out.
		return []authz.Capability{
			EmailSend, EmailDelete, FileDelete, NetworkWrite, EgressWiden,
			PolicyEdit, AuditRead, AuditExport, UserManage, CredentialRotate,
			OrgMembersManage, OrgSettingsEdit, WorkspaceMembersManage, WorkspaceSettingsEdit,
			ProcessExecute, BrowserAct,
		}
	case "prt-org-managers":
		return []authz.Capability{OrgMembersManage, OrgSettingsEdit}
	case "prt-workspace-managers":
		return []authz.Capability{WorkspaceMembersManage, WorkspaceSettingsEdit}
	default:
		return nil
	}
}
