import type { GeneratedFile } from './generated-file.ts';
import type { Service } from './services.ts';

/** The OpenAPI description of each service, as it serves it. JSON has no comments: its first line is a field. */
export function writeOpenApi(services: readonly Service[]): GeneratedFile[] {
  return services.map(({ name, describeApi }) => ({
    path: `openapi/${name}.json`,
    text: `{ "x-generated-by": "npm run generate",\n${JSON.stringify(describeApi(), null, 2).slice(2)}\n`,
  }));
}
