import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGeneratedDocument } from './docs-page.ts';

/** What client generators and validators stumble over, in the API descriptions that are published. */

interface Described {
  readonly paths: Record<string, Record<string, DescribedOperation>>;
  readonly components: { readonly schemas: Record<string, { format?: string; anyOf?: { type?: string }[] }> };
}

interface DescribedOperation {
  readonly operationId: string;
  readonly parameters: readonly { in?: string; schema?: Record<string, unknown>; $ref?: string }[];
  readonly responses: Record<string, object>;
  readonly 'x-errors': readonly string[];
}

for (const name of ['identity', 'coordination']) {
  const document = (await readGeneratedDocument(`${name}.json`)) as Described;
  const text = JSON.stringify(document);

  test(`the patterns of ${name} are expressions in every language`, () => {
    const patterns = [...text.matchAll(/"pattern": ?("(?:[^"\\]|\\.)*")/g)].map(
      ([, one]) => JSON.parse(one as string) as string,
    );
    assert.ok(patterns.length > 5);
    for (const pattern of new Set(patterns)) {
      assert.ok(!pattern.includes('\\/'), `an escaped slash: ${pattern}`);
      assert.ok(!/\(\?[=!<]|\\[1-9]/.test(pattern), `no such assertion or reference in RE2: ${pattern}`);
      new RegExp(pattern, 'u');
    }
  });

  test(`an instant of ${name} that is sent has no format beside its forms`, () => {
    const { format, anyOf = [] } = document.components.schemas['Instant'] ?? {};
    assert.deepEqual([format, anyOf.map(({ type }) => type)], [undefined, ['string', 'string']]);
  });

  test(`every operation of ${name} with text in its path declares that NUL is refused`, () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const takingText = operations.filter(({ parameters }) =>
      parameters.some(({ in: where, schema = {} }) => where === 'path' && isFreeText(schema)),
    );
    assert.ok(takingText.length > 5);
    for (const { operationId, responses, 'x-errors': codes } of takingText) {
      assert.ok(codes.includes('validation_error'), operationId);
      assert.ok(responses['422'] !== undefined || responses['400'] !== undefined, operationId);
    }
  });
}

function isFreeText(schema: Record<string, unknown>): boolean {
  return schema['type'] === 'string' && schema['pattern'] === undefined && schema['enum'] === undefined;
}
