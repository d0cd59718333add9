package spawn

// elfMachine is EM_AARCH64.
const elfMachine = 183
