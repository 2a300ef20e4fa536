import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const page = (title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#api', deepLinking: true, validatorUrl: null,
  docExpansion: 'none', persistAuthorization: true });
`;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The public description of a service. */
export interface ServiceDocs {
  /** Of the page. */
  readonly title: string;
  /** The content of `/openapi.json`. Called once, by the first request. */
  openapi(): Promise<object>;
  /** The content of `/asyncapi.json`, if the service publishes events. */
  asyncapi?(): Promise<object>;
}

/**
 * Reads a document that `npm run generate` has written to `openapi/`. Generating one from the declarations takes 0.6 s
 * of CPU time, during which every other request of the process would wait. @param name the file name, such as
 * `coordination.json`; @throws Error if the file doesn't exist
 */
export async function readGeneratedDocument(name: string): Promise<object> {
  const text = await readFile(join(import.meta.dirname, '../../../../openapi', name), 'utf8');
  const { 'x-generated-by': _generator, ...document } = JSON.parse(text) as Record<string, unknown>;
  return document;
}

/**
 * `GET /openapi.json`, `GET /asyncapi.json` if the service publishes events, and the interactive page `GET /docs`. The
 * page is served whole from here: it works without the internet, and below a prefix, because its links are relative.
 */
export function addDocs(app: FastifyInstance, docs: ServiceDocs): void {
  const assets = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  for (const name of ['openapi', 'asyncapi'] as const) {
    if (docs[name] === undefined) continue;
    const document = once(async () => JSON.stringify(await docs[name]?.()));
    app.get(`/${name}.json`, async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(await document()),
    );
  }
  app.get('/docs', (_request, reply) =>
    reply
      .headers({
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .type('text/html; charset=utf-8')
      .send(page(docs.title)),
  );
  app.get('/docs/start.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(start));
  for (const [file, type] of [
    ['swagger-ui.css', 'text/css'],
    ['swagger-ui-bundle.js', 'text/javascript'],
  ] as const) {
    app.get(`/docs/${file}`, async (_request, reply) =>
      reply
        .type(`${type}; charset=utf-8`)
        .header('cache-control', 'public, max-age=3600')
        .send(await readFile(join(assets, file))),
    );
  }
}

/** Returns the same response for every call; after a failure, the next call retries. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined;
  return () => {
    kept ??= work().catch((error) => {
      kept = undefined;
      throw error;
    });
    return kept;
  };
}
