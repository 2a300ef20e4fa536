import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import { audience, type ExchangeFixture } from './fixture.ts';

/** One of the things whose rate is compared. */
export interface Contender {
  readonly name: string;
  /** How many are under way at the same time. */
  readonly lanes: number;
  act(lane: number): Promise<void>;
  close(): void;
}

/** `POST /platform-access-tokens:exchange`, each agent with its own token on its own connection. */
export async function exchanges(fixture: ExchangeFixture, connections: number): Promise<Contender> {
  const { port } = fixture.service;
  const lanes = await Promise.all(
    fixture.tokens.slice(0, connections).map(async (token) => ({
      socket: await RawConnection.open(port),
      request: requestOf(port, token),
    })),
  );
  return {
    name: 'exchange',
    lanes: connections,
    async act(lane) {
      const { socket, request } = lanes[lane] as (typeof lanes)[number];
      const status = await socket.exchange(request);
      if (status !== 200) throw new BenchError(`An exchange was answered with ${status}.`);
    },
    close: () => lanes.forEach(({ socket }) => void socket.close()),
  };
}

function requestOf(port: number, token: string): string {
  const body = JSON.stringify({ token, audience });
  const head = [
    'POST /api/v1/platform-access-tokens:exchange HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

const signAsync = promisify(sign);
/** About what stands before the signature of an access token. */
const signedBytes = 900;

/** Nothing but RS256 signatures by the same key, two under way for each core: the most that exchanges could reach. */
export function bareSignatures({ signingKey }: ExchangeFixture): Contender {
  const key = createPrivateKey(signingKey);
  const data = randomBytes(signedBytes);
  return {
    name: 'signature',
    lanes: 2 * availableParallelism(),
    async act() {
      await signAsync('RSA-SHA256', data, key);
    },
    close: () => undefined,
  };
}
