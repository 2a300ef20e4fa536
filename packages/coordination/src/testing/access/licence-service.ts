import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';

/** A received query. */
export interface ArrivedQuestion {
  readonly body: {
    product: string;
    feature: string;
    subjectId: string;
    requiredAmount: number;
    correlationId: string;
  };
  readonly token: string | undefined;
}

/** The response. */
export interface LicenceAnswer {
  readonly status?: number;
  /** Fields that replace those of a normal decision, or a string that replaces the whole body. */
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
  readonly delayMs?: number;
  /** Closes the connection instead of responding. */
  readonly hangsUp?: boolean;
}

/** A license service and, at the same address, identity's token endpoint. */
export interface TestLicence {
  /** The settings that enable the check. */
  readonly settings: Record<string, string>;
  readonly asked: ArrivedQuestion[];
  /** The number of issued tokens, and the requests for them. */
  readonly exchanged: object[];
  behave(answer: LicenceAnswer | ((question: ArrivedQuestion) => LicenceAnswer)): void;
  close(): Promise<void>;
}

const clientSecret = 'the-secret-of-the-account-that-asks-for-licences';

export async function startLicenceService(): Promise<TestLicence> {
  const [asked, exchanged]: [ArrivedQuestion[], object[]] = [[], []];
  let answerTo: (question: ArrivedQuestion) => LicenceAnswer = () => ({});
  keepSecret('client secret', clientSecret);
  const server = createServer(async (req, res) => {
    const sent = JSON.parse(await readText(req));
    if (req.url === '/api/v1/tokens/exchange') {
      exchanged.push(sent);
      const accessToken = `token-of-the-own-account-${exchanged.length}`;
      keepSecret('access token', accessToken);
      return void res.end(JSON.stringify({ accessToken, tokenType: 'Bearer', expiresIn: 300 }));
    }
    const question = { body: sent, token: req.headers.authorization };
    asked.push(question);
    const { status = 200, body = {}, headers, delayMs = 0, hangsUp = false } = answerTo(question);
    await sleep(delayMs, undefined, { ref: false });
    if (hangsUp) return void req.socket.destroy();
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(typeof body === 'string' ? body : JSON.stringify({ ...decision(sent), ...body }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    settings: {
      CP_ENTITLEMENT_ENABLED: 'true',
      CP_ENTITLEMENT_BASE_URL: url,
      CP_IAM_BASE_URL: url,
      CP_IAM_CLIENT_ID: 'iam_sa_licence',
      CP_IAM_CLIENT_SECRET: clientSecret,
    },
    asked,
    exchanged,
    behave(answer) {
      answerTo = typeof answer === 'function' ? answer : () => answer;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function decision({ product, feature }: ArrivedQuestion['body']) {
  return {
    allowed: true,
    reason: 'licensed',
    product,
    feature,
    decisionId: '0190b2c4-0000-7000-8000-000000000001',
    limits: {},
    validUntil: null,
    policyVersion: 1,
  };
}

async function readText(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
  return text;
}
