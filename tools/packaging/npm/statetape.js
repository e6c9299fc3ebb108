#!/usr/bin/env node
// Starts the program of this platform's package. Nothing is downloaded.
'use strict'
const { spawn } = require('child_process')
const os = require('os')

const name = `statetape-${process.platform}-${process.arch}`
let program
try {
	program = require.resolve(`${name}/bin/statetape`)
} catch {
	console.error(`statetape: the package ${name} is not installed. StateTape ` +
		'runs on Linux (x64) with glibc 2.34 or newer; npm leaves the package ' +
		'out with --omit=optional.')
	process.exit(1)
}

const args = process.argv.slice(2)
if (process.execve) {
	// Becomes the program, so that signals and the terminal are its own.
	process.removeAllListeners()
	process.execve(program, [program, ...args], process.env)
}

const child = spawn(program, args, { stdio: 'inherit' })
// The terminal sends its signals to both; the program decides.
for (const signal of ['SIGINT', 'SIGQUIT'])
	process.on(signal, () => {})
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'])
	process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
	console.error(`statetape: ${error.message}`)
	process.exit(1)
})
child.on('exit', (code, signal) => {
	if (signal) {
		process.removeAllListeners(signal)
		process.kill(process.pid, signal)
		setTimeout(() => process.exit(128 + os.constants.signals[signal]), 100)
	} else {
		process.exit(code)
	}
})
