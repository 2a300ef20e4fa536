import type { AddressInfo } from 'node:net';
import type { RunningService } from '../http/running-service.ts';
import type { Logger } from '../process/log.ts';
import { createListener, openPort } from './listener.ts';

/** One Ctrl-C in a terminal can arrive more than once within milliseconds; a deliberate second one arrives later. */
const sameSignalMs = 1000;

/** Calls `stop` once on SIGTERM or SIGINT; a deliberate second signal ends the process at once. */
export function onStopSignal(stop: (signal: string) => void): void {
  let stoppedAt: number | undefined;
  const onSignal = (signal: string) => {
    if (stoppedAt === undefined) {
      stoppedAt = performance.now();
      stop(signal);
    } else if (performance.now() - stoppedAt > sameSignalMs) process.exit(1);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
}

/**
 * Opens a port for a service until SIGTERM or SIGINT; requests in progress are completed.
 * @returns the address it listens on, and a promise that resolves when it has stopped
 * @throws Error with one sentence if the port isn't available
 */
export async function listenUntilStopped(
  service: RunningService,
  { host, port, log }: { host: string; port: number; log: Logger },
): Promise<{ url: string; stopped: Promise<void> }> {
  const server = createListener(service);
  await openPort(server, host, port).catch((error: NodeJS.ErrnoException) => {
    throw portError(error, host, port);
  });
  const stopped = new Promise<void>((done, refuse) => {
    const stop = (signal: string) => {
      log.info({ signal }, 'stopping: requests in progress are completed first');
      const closed = new Promise<void>((end) => server.close(() => end()));
      service
        .close()
        // Every response has been sent. Only idle connections remain; they would delay the shutdown.
        .then(() => server.closeAllConnections())
        .then(() => closed)
        .then(done, refuse);
    };
    onStopSignal(stop);
  });
  const { address, family, port: boundPort } = server.address() as AddressInfo;
  return { url: `http://${family === 'IPv6' ? `[${address}]` : address}:${boundPort}`, stopped };
}

function portError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'another program uses it',
    EACCES: 'this user may not open it',
    EADDRNOTAVAIL: 'this machine has no such address',
  };
  return new Error(`Can't listen on ${host}:${port}: ${reasons[error.code ?? ''] ?? error.message}.`, {
    cause: error,
  });
}
