module github.com/sfstat/sfstat

go 1.26
