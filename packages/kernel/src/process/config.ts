/** One documented setting: its default, its parser, and a sentence for the manual. */
export interface Setting<T> {
  readonly default: T;
  readonly unit?: string;
  readonly doc: string;
  /** The value is never printed, not even in an error. */
  readonly secret?: boolean;
  /** Other names under which the value is accepted. */
  readonly aliases?: readonly string[];
  readonly kind: string;
  /** Parses the text; throws an error that doesn't repeat the value. */
  parse(text: string): T;
}

export type SettingTable = Record<string, Setting<unknown>>;
export type SettingValues<Table extends SettingTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

/** A setting has a value that can't be used. The message is one sentence and doesn't contain the value. */
export class SettingError extends Error {
  constructor(name: string, message: string) {
    super(`${name} ${message}`);
    this.name = 'SettingError';
  }
}

interface Options<T> {
  default: T;
  doc: string;
  unit?: string;
  secret?: boolean;
  aliases?: readonly string[];
}

export function text<T extends string | undefined>(options: Options<T>): Setting<T | string> {
  return { ...options, kind: 'text', parse: (value) => value };
}

export function integer(options: Options<number> & { min?: number; max?: number }): Setting<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options;
  return {
    ...options,
    kind: 'integer',
    parse(value) {
      const number = Number(value);
      if (!/^-?\d+$/.test(value.trim()) || number < min || number > max)
        throw new Error(`must be an integer from ${min} to ${max}.`);
      return number;
    },
  };
}

export function flag(options: Options<boolean>): Setting<boolean> {
  return {
    ...options,
    kind: 'true or false',
    parse(value) {
      const word = value.trim().toLowerCase();
      if (['true', '1', 'yes', 'on'].includes(word)) return true;
      if (['false', '0', 'no', 'off'].includes(word)) return false;
      throw new Error('must be true or false.');
    },
  };
}

export function choice<const Word extends string>(
  words: readonly Word[],
  options: Options<Word>,
): Setting<Word> {
  return {
    ...options,
    kind: words.join(' or '),
    parse(value) {
      const word = words.find((known) => known.toLowerCase() === value.trim().toLowerCase());
      if (word === undefined) throw new Error(`must be one of ${words.join(', ')}.`);
      return word;
    },
  };
}

/** A JSON array of strings. */
export function list(options: Options<readonly string[]>): Setting<readonly string[]> {
  return {
    ...options,
    kind: 'JSON array of strings',
    parse(value) {
      const parsed = parseJson(value);
      if (!Array.isArray(parsed) || parsed.some((item) => typeof item !== 'string'))
        throw new Error('must be a JSON array of strings.');
      return parsed as string[];
    },
  };
}

/** A JSON object of strings. */
export function map(
  options: Options<Readonly<Record<string, string>>>,
): Setting<Readonly<Record<string, string>>> {
  return {
    ...options,
    kind: 'JSON object of strings',
    parse(value) {
      const parsed = parseJson(value);
      const isMap = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      if (!isMap || Object.values(parsed).some((item) => typeof item !== 'string'))
        throw new Error('must be a JSON object of strings.');
      return parsed as Record<string, string>;
    },
  };
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/**
 * Reads every declared setting from `env`; an absent or empty one has its default. Names are case-insensitive,
 * unknown ones are ignored.
 * @throws SettingError for a value that can't be used
 */
export function readSettings<Table extends SettingTable>(
  table: Table,
  env: Readonly<Record<string, string | undefined>>,
): SettingValues<Table> {
  const given = new Map(Object.entries(env).map(([name, value]) => [name.toUpperCase(), value]));
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const source = [name, ...(setting.aliases ?? [])].find(
      (candidate) => (given.get(candidate) ?? '') !== '',
    );
    try {
      values[name] = source === undefined ? setting.default : setting.parse(given.get(source) as string);
    } catch (error) {
      throw new SettingError(source ?? name, (error as Error).message);
    }
  }
  return values as SettingValues<Table>;
}
