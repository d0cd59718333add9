package risk

import (
	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/shapes"
)

// leaving are words and shapes which suggest that data is about to leave. They
// err on the strict side: "post" counts as a noun too.
func leaving() []match.Pattern {
	return []match.Pattern{
		{Name: "send", Expr: `(?i)\b(?:send|sends|sent|sending)\b`, Keywords: words("send | sent")},
		{Name: "upload", Expr: `(?i)\bupload(?:s|ed|ing)?\b`, Keywords: words("upload")},
		{Name: "post", Expr: `(?i)\bpost(?:s|ed|ing)?\b`, Keywords: words("post")},
		{Name: "email_to", Expr: `(?i)\be-?mail(?:s|ed|ing)?\s+(?:to|it|this|them|the)\b`, Keywords: words("email | e-mail")},
		{Name: "forward", Expr: `(?i)\bforward(?:s|ed|ing)?\b`, Keywords: words("forward")},
		{Name: "share", Expr: `(?i)\bshar(?:e|es|ed|ing)\b`, Keywords: words("shar")},
		{Name: "publish", Expr: `(?i)\bpublish(?:es|ed|ing)?\b`, Keywords: words("publish")},
		{Name: "transmit", Expr: `(?i)\btransmit(?:s|ted|ting)?\b`, Keywords: words("transmit")},
		{Name: "export", Expr: `(?i)\bexport(?:s|ed|ing)?\b`, Keywords: words("export")},
		{Name: "submit", Expr: `(?i)\bsubmit(?:s|ted|ting)?\b`, Keywords: words("submit")},
		{Name: "push_to", Expr: `(?i)\b(?:push(?:es|ed|ing)?\s+(?:to|up)|git\s+push)\b`, Keywords: words("push | git")},
		{Name: "sync_to", Expr: `(?i)\b(?:sync|replicate|mirror|back\s?up)(?:s|d|ed|ing)?\s+to\b`, Keywords: words("sync | replicate | mirror | back")},
		{Name: "webhook", Expr: `(?i)\bweb-?hooks?\b`, Keywords: words("webhook | web-hook")},
		{Name: "external", Expr: `(?i)\b(?:external(?:ly)?|outside|third[- ]party|off-?site|public(?:ly)?)\b`, Keywords: words("external | outside | third- | third  | offsite | off-site | public")},
		{Name: "http_url", Expr: `(?i)\bhttps?://[^\s"'<>]+`, Keywords: words("http")},
		{
			Name: "recipient", Expr: `(?i)\b(?:to|cc|bcc)\s{0,3}[:=]?\s{0,3}<?[^\s@<>]+@[^\s@<>]+\.[a-z]{2,}`,
			Keywords: words("@"),
			Around:   shapes.AroundRecipient,
		},
		{Name: "bucket_uri", Expr: `(?i)\b(?:s3|gs|gcs|abfss?|azblob|ftps?|sftp)://\S+`, Keywords: words("s3:// | gs:// | gcs:// | abfs:// | abfss:// | azblob:// | ftp:// | ftps:// | sftp://")},
		{Name: "remote_copy", Expr: `(?i)\b(?:scp|rsync|sftp|ftp|nc|ncat|netcat|socat)\b`, Keywords: words("scp | rsync | sftp | ftp | nc | netcat | socat")},
		{Name: "http_client", Expr: `(?i)\b(?:curl|wget|httpie|iwr|invoke-webrequest)\b`, Keywords: words("curl | wget | httpie | iwr | invoke-webrequest")},
	}
}

// irreversible are words and commands for what cannot be taken back.
func irreversible() []match.Pattern {
	return []match.Pattern{
		{Name: "delete_permanently", Expr: `(?i)\b(?:permanent(?:ly)?\s+(?:delet|remov|eras)\w+|(?:delet|remov|eras)\w+\s+(?:\S+\s+){0,4}permanently)\b`, Keywords: words("permanent | delet | remov | eras")},
		{Name: "hard_delete", Expr: `(?i)\bhard[- ]delet(?:e|es|ed|ing)\b`, Keywords: words("hard-delet | hard delet")},
		{Name: "purge", Expr: `(?i)\bpurg(?:e|es|ed|ing)\b`, Keywords: words("purg")},
		{Name: "wipe_or_shred", Expr: `(?i)\b(?:wip(?:e|es|ed|ing)|shred(?:s|ded|ding)?)\b`, Keywords: words("wip | shred")},
		{Name: "destroy", Expr: `(?i)\bdestroy(?:s|ed|ing)?\b`, Keywords: words("destroy")},
		{Name: "drop_table", Expr: `(?i)\bdrop\s+(?:table|database|schema|index|view|collection)\b`, Keywords: words("drop")},
		{Name: "truncate_table", Expr: `(?i)\btruncate\s+table\b`, Keywords: words("truncate")},
		{Name: "rm_recursive", Expr: `(?i)\brm\s+(?:-{1,2}[a-z-]+\s+)*(?:-[a-z]*r[a-z]*|--recursive)\b`, Keywords: words("rm")},
		{Name: "format_disk", Expr: `(?i)\b(?:mkfs(?:\.\w+)?|format\s+(?:the\s+)?(?:disk|drive|volume|partition)|dd\s+[^\n]*\bof=/dev/)`, Keywords: words("mkfs | format | dd")},
		{Name: "wire_transfer", Expr: `(?i)\b(?:wire\s+(?:transfer|funds|money)|transfer\s+(?:\S+\s+){0,2}(?:funds|money))\b`, Keywords: words("wire | transfer")},
		{Name: "pay_or_purchase", Expr: `(?i)\b(?:pay|purchase|buy|checkout|place\s+(?:the\s+|an?\s+)?order)\b`, Keywords: words("pay | purchase | buy | checkout | place")},
		{Name: "deploy_production", Expr: `(?i)\b(?:deploy|release|publish)\w*\s+(?:\S+\s+){0,3}to\s+prod(?:uction)?\b`, Keywords: words("deploy | release | publish")},
		{Name: "revoke_or_terminate", Expr: `(?i)\b(?:revoke|terminate|deactivate|cancel|close)\w*\s+(?:\S+\s+){0,3}(?:account|access|subscription|contract|credential|key|instance)s?\b`, Keywords: words("revoke | terminate | deactivate | cancel | close")},
		{Name: "force_push", Expr: `(?i)\b(?:git\s+push\b[^\n]*(?:\s-f\b|\s--force\b|\s--mirror\b)|force[- ]push(?:es|ed|ing)?)`, Keywords: words("git | force-push | force push")},
	}
}

// reversible are words for what changes something but can be undone.
func reversible() []match.Pattern {
	return []match.Pattern{
		{Name: "draft", Expr: `(?i)\bdraft(?:s|ed|ing)?\b`, Keywords: words("draft")},
		{Name: "preview", Expr: `(?i)\bpreview(?:s|ed|ing)?\b`, Keywords: words("preview")},
		{Name: "save", Expr: `(?i)\bsav(?:e|es|ed|ing)\b`, Keywords: words("sav")},
		{Name: "edit_or_update", Expr: `(?i)\b(?:edit|update|modify)(?:s|d|ed|ing)?\b`, Keywords: words("edit | update | modify")},
		{Name: "rename", Expr: `(?i)\brenam(?:e|es|ed|ing)\b`, Keywords: words("renam")},
		{Name: "move", Expr: `(?i)\bmov(?:e|es|ed|ing)\b`, Keywords: words("mov")},
		{Name: "archive", Expr: `(?i)\barchiv(?:e|es|ed|ing)\b`, Keywords: words("archiv")},
		{Name: "label_or_tag", Expr: `(?i)\b(?:label|tag|star|flag)(?:s|ged|led|ed|ging|ling|ing)?\b`, Keywords: words("label | tag | star | flag")},
		{Name: "create_or_add", Expr: `(?i)\b(?:create|add|insert)(?:s|d|ed|ing)?\b`, Keywords: words("create | add | insert")},
		{Name: "schedule_or_snooze", Expr: `(?i)\b(?:schedule|snooze|postpone)(?:s|d|ing)?\b`, Keywords: words("schedule | snooze | postpone")},
	}
}
