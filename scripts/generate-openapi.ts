import type { GeneratedFile } from './generated-file.ts';
import type { Service } from './services.ts';

/**
 * The OpenAPI description of each service, and the AsyncAPI description of what it sends by itself, as it serves them.
 * JSON has no comments: the first line is a field.
 */
export function writeOpenApi(services: readonly Service[]): GeneratedFile[] {
  return services.flatMap(({ name, describeApi, describeEvents }) => [
    fileOf(`${name}.json`, describeApi()),
    ...(describeEvents === undefined ? [] : [fileOf(`${name}.asyncapi.json`, describeEvents())]),
  ]);
}

function fileOf(name: string, document: object): GeneratedFile {
  const text = JSON.stringify(document, null, 2).slice(2);
  return { path: `openapi/${name}`, text: `{ "x-generated-by": "npm run generate",\n${text}\n` };
}
