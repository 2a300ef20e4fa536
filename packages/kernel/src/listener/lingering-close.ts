import type { IncomingMessage } from 'node:http';

/** How long the rest of a refused body is still read. */
export const lingerMsMax = 2000;

/**
 * Call it before a response with `connection: close` while the client still sends its body. Node would close the socket
 * with the response, and a socket that is closed with unread bytes sends a reset, which can overtake the response: the
 * client would see a broken connection, or 502 behind a proxy, instead of the refusal. After this call, only the
 * server's side ends with the response, and incoming data is discarded until the client closes its side, for at most
 * `lingerMsMax`.
 */
export function lingerBeforeClose(req: IncomingMessage, msMax = lingerMsMax): void {
  const { socket } = req;
  // Node calls it when the response has been passed to the system.
  socket.destroySoon = () => {
    req.resume();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), msMax);
    socket.once('close', () => clearTimeout(timer));
  };
}
