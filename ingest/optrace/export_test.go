package optrace

// What tests ask for that nobody else does: a meta file by its name, and one that is text.
var OpenMeta, ReadMeta = openMeta, readMeta
