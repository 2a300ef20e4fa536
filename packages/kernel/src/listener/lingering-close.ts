import type { IncomingMessage } from 'node:http';

/** How long the rest of a refused body is still read. */
export const lingerMsMax = 2000;

/**
 * To be called before an answer with `connection: close` while the client still sends its body. Node would close the
 * socket with the answer, and a socket that is closed with unread bytes sends a reset, which can overtake the answer: a
 * client then saw a broken connection, and behind a proxy 502, instead of the refusal. Now only our side ends with the
 * answer, and what comes is thrown away until the client ends its side, for `lingerMsMax` at most.
 */
export function lingerBeforeClose(req: IncomingMessage, msMax = lingerMsMax): void {
  const { socket } = req;
  // What Node calls when the answer is with the system.
  socket.destroySoon = () => {
    req.resume();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), msMax);
    socket.once('close', () => clearTimeout(timer));
  };
}
