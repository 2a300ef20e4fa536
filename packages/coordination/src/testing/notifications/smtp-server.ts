import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions } from 'node:tls';

/** An e-mail as the server received it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: string;
  /** The headers by lower-case names, unfolded and with encoded words decoded. */
  readonly headers: ReadonlyMap<string, string>;
  /** The message as it was received. */
  readonly raw: string;
  /** The parts, decoded. */
  readonly text: string;
  readonly html: string;
}

/** A reply such as `550 5.1.1 unknown`; undefined accepts, `silent` never replies, `hang up` closes the connection. */
type Reply = string | undefined;

export interface SmtpBehaviour {
  greeting?: () => Reply;
  from?: () => Reply;
  recipient?: (address: string) => Reply | Promise<Reply>;
  /** The reply after the whole message, which counts as received whatever the reply is. */
  message?: (mail: ReceivedMail) => Reply | Promise<Reply>;
  /** The password that AUTH PLAIN needs; without it there is no AUTH. */
  login?: { user: string; pass: string };
  /** Serves TLS from the first byte. */
  tls?: SecureContextOptions;
}

export interface SmtpServer {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** The commands of all connections, in order, without the messages. */
  readonly commands: readonly string[];
  readonly connections: number;
  /** The maximum number of connections that were open at once. */
  readonly connectionsMax: number;
  to(address: string): readonly ReceivedMail[];
  stop(): Promise<void>;
  /** Starts the server again on the same port. */
  start(): Promise<void>;
}

/** The receiving side of e-mail: a server that keeps what it receives, without STARTTLS. */
export async function startSmtpServer(behaviour: SmtpBehaviour = {}): Promise<SmtpServer> {
  const received: ReceivedMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  const counts = { connections: 0, max: 0 };
  const accept = (socket: Socket) => {
    counts.connections += 1;
    sockets.add(socket);
    counts.max = Math.max(counts.max, sockets.size);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    serve(socket, behaviour, { received, commands });
  };
  const start = async () => {
    const opened =
      behaviour.tls === undefined ? createServer(accept) : createTlsServer(behaviour.tls, accept);
    server = opened;
    await new Promise<void>((done) => opened.listen(port, '127.0.0.1', done));
    port = (opened.address() as AddressInfo).port;
  };
  await start();
  return {
    get port() {
      return port;
    },
    received,
    commands,
    get connections() {
      return counts.connections;
    },
    get connectionsMax() {
      return counts.max;
    },
    to: (address) => received.filter((mail) => mail.to === address),
    start,
    async stop() {
      const closing = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => (closing === undefined ? done() : closing.close(() => done())));
    },
  };
}

function serve(
  socket: Socket,
  behaviour: SmtpBehaviour,
  { received, commands }: { received: ReceivedMail[]; commands: string[] },
): void {
  let buffer = '';
  let isData = false;
  let from = '';
  let to = '';
  const say = (reply: Reply, otherwise: string) => {
    if (reply === 'hang up') socket.destroy();
    else if (reply !== 'silent') socket.write(`${reply ?? otherwise}\r\n`);
    return reply === undefined;
  };
  say(behaviour.greeting?.(), '220 test');
  socket.on('data', (chunk) => {
    buffer += chunk.toString('latin1');
    void read();
  });

  async function read(): Promise<void> {
    for (;;) {
      const end = isData ? buffer.indexOf('\r\n.\r\n') : buffer.indexOf('\r\n');
      if (end < 0) return;
      const taken = buffer.slice(0, end);
      buffer = buffer.slice(end + (isData ? 5 : 2));
      if (isData) {
        isData = false;
        const mail = parseMail(from, to, taken.replaceAll('\r\n..', '\r\n.'));
        received.push(mail);
        say(await behaviour.message?.(mail), '250 2.0.0 accepted');
      } else await command(taken);
    }
  }

  async function command(line: string): Promise<void> {
    commands.push(line.replace(/^(AUTH \w+) .*/, '$1'));
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO')
      socket.write(`250-test\r\n${behaviour.login ? '250-AUTH PLAIN\r\n' : ''}250 8BITMIME\r\n`);
    else if (verb === 'AUTH') say(isLogin(line) ? undefined : '535 5.7.8 no', '235 2.7.0 welcome');
    else if (verb === 'MAIL') {
      from = addressIn(line);
      say(behaviour.from?.(), '250 2.1.0 sender');
    } else if (verb === 'RCPT') {
      const address = addressIn(line);
      if (say(await behaviour.recipient?.(address), '250 2.1.5 recipient')) to = address;
    } else if (verb === 'DATA') {
      isData = true;
      socket.write('354 go on\r\n');
    } else if (verb === 'QUIT') socket.end('221 bye\r\n');
    else socket.write('250 fine\r\n');
  }

  function isLogin(line: string): boolean {
    const [, user, pass] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
      .toString()
      .split('\0');
    return behaviour.login !== undefined && user === behaviour.login.user && pass === behaviour.login.pass;
  }
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? '';
}

function parseMail(from: string, to: string, raw: string): ReceivedMail {
  const { headers, body } = split(raw);
  const boundary = /boundary="?([^";]+)"?/.exec(headers.get('content-type') ?? '')?.[1];
  const parts = boundary === undefined ? [raw] : body.split(`--${boundary}`).slice(1, -1);
  const found = parts.map((part) => split(part.replace(/^\r\n/, '')));
  const partOf = (type: string) => {
    const part = found.find((one) => one.headers.get('content-type')?.startsWith(type));
    return part === undefined
      ? ''
      : decodeBody(part.body, part.headers.get('content-transfer-encoding') ?? '7bit');
  };
  return { from, to, headers, raw, text: partOf('text/plain'), html: partOf('text/html') };
}

function split(text: string): { headers: Map<string, string>; body: string } {
  const at = text.indexOf('\r\n\r\n');
  const head = text.slice(0, at).replaceAll(/\r\n[ \t]+/g, ' ');
  const headers = new Map(
    head.split('\r\n').map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())];
    }),
  );
  return { headers, body: text.slice(at + 4) };
}

function decodeWords(text: string): string {
  return text
    .replaceAll(/\?= =\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, kind: string, content: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(content, 'base64').toString()
        : quotedPrintable(content.replaceAll('_', ' ')),
    );
}

function decodeBody(body: string, encoding: string): string {
  const decoded =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? quotedPrintable(body.replaceAll('=\r\n', ''))
        : body;
  return decoded.replaceAll('\r\n', '\n');
}

function quotedPrintable(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
