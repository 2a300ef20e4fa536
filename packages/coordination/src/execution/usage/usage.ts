import { z } from 'zod';

/** What work has used (core, section 25): tokens, and money in millionths of each currency's unit. */
export const Usage = z
  .strictObject({
    inputTokens: z.int(),
    outputTokens: z.int(),
    costs: z.array(z.strictObject({ currency: z.string(), costMicros: z.int() })),
  })
  .meta({ id: 'Usage' });
export type Usage = z.infer<typeof Usage>;

/** Checked against the known currencies by the verb. */
export const CurrencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be a currency code of ISO 4217')
  .meta({ description: 'ISO 4217; USD when absent.' });

export const currencyDefault = 'USD';

const currencies = new Set(Intl.supportedValuesOf('currency'));

export function isCurrency(code: string): boolean {
  return currencies.has(code);
}

/** Sums as they are stored; `costs` by currency. */
export interface UsageRow {
  input_tokens: number;
  output_tokens: number;
  costs: Record<string, number>;
}

/** The wire form of sums, currencies in alphabetical order. */
export function usageOf({ input_tokens, output_tokens, costs }: UsageRow): Usage {
  const entries = Object.entries(costs).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    costs: entries.map(([currency, costMicros]) => ({ currency, costMicros })),
  };
}
