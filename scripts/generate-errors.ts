import { endpointName } from '@baton/kernel/service';
import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `Every refusal of Baton has a code. Programs react to the code; the text beside it is for people and may change.
A code that any call can answer before its own rules are looked at is marked *any call*.`;

/** Every error code with its status, when it comes, what to do about it and who answers it. */
export function writeErrors(services: readonly Service[]): GeneratedFile {
  const sections = services.map((service) => {
    const rows = Object.entries(service.errors).map(([name, { status, otherStatus, when, react }]) => [
      code(name),
      otherStatus === undefined ? `${status}` : `${status} or ${otherStatus}`,
      when,
      react ?? '',
      answeredBy(service, name),
    ]);
    const head = ['Code', 'Status', 'When', 'What to do', 'Answered by'];
    return `\n## ${titleOf(service.name)}\n\n${tableOf(head, rows)}`;
  });
  return { path: 'docs/errors.md', text: `${pageStart('errors.ts', 'Errors', intro)}${sections.join('')}` };
}

function answeredBy({ endpoints, pipelineCodesOf }: Service, name: string): string {
  const declaring = endpoints
    .filter((endpoint) => endpoint.errors.includes(name))
    .map(endpointName)
    .map(code);
  const isCommon = endpoints.some((endpoint) => pipelineCodesOf(endpoint).includes(name));
  return [...(isCommon ? ['*any call*'] : []), ...declaring].join('<br>');
}
