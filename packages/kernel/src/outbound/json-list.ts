/**
 * JSON in which one list may be long: the list is read item by item, so that the whole text and all items are never in
 * memory at once.
 */

export interface JsonListBounds {
  /** Of one item. */
  readonly itemCharactersMax: number;
  /** The maximum length of everything around the list. */
  readonly restCharactersMax: number;
}

/** The text is not a JSON object, or one part exceeds its limit. */
export class UnreadableList extends Error {
  override readonly name = 'UnreadableList';
}

const quote = 34;
const comma = 44;
const backslash = 92;
const [openList, closeList, openObject, closeObject] = [91, 93, 123, 125];

/**
 * Reads an object that has a long list among its members.
 * @param chunks the text, split anywhere @param name the name of the list member; lists elsewhere are part of the rest
 * @param take receives each parsed item in order; an error that it throws ends the read
 * @returns the object with `[]` in place of the list
 * @throws UnreadableList
 */
export async function readJsonList(
  chunks: AsyncIterable<string>,
  name: string,
  bounds: JsonListBounds,
  take: (item: unknown) => void,
): Promise<object> {
  const reader = new ListReader(name, bounds, take);
  for await (const chunk of chunks) reader.read(chunk);
  return reader.end();
}

class ListReader {
  readonly #bounds: JsonListBounds;
  readonly #take: (item: unknown) => void;
  /** The text before the list. It never matches inside a string, because quotes are escaped there. */
  readonly #before: RegExp;
  #rest = '';
  #item = '';
  #items = 0;
  #depth = 0;
  #isInList = false;
  #isInText = false;
  #isEscaped = false;

  constructor(name: string, bounds: JsonListBounds, take: (item: unknown) => void) {
    this.#bounds = bounds;
    this.#take = take;
    this.#before = new RegExp(`[{,]\\s*"${name}"\\s*:\\s*\\[$`);
  }

  read(chunk: string): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const code = chunk.charCodeAt(at);
      if (this.#isInText) this.#readText(code);
      else if (code === quote) this.#isInText = true;
      else if (code === openList || code === openObject) {
        this.#depth += 1;
        if (this.#isInList || this.#depth !== 2 || code !== openList) continue;
        this.#keep(chunk.slice(from, at + 1));
        from = at + 1;
        this.#isInList = this.#before.test(this.#rest.slice(-200));
      } else if (code === closeList || code === closeObject) {
        if (this.#isInList && this.#depth === 2) {
          this.#keep(chunk.slice(from, at));
          from = at;
          this.#endList();
        }
        this.#depth -= 1;
      } else if (code === comma && this.#isInList && this.#depth === 2) {
        this.#keep(chunk.slice(from, at));
        from = at + 1;
        this.#endItem();
      }
    }
    this.#keep(chunk.slice(from));
  }

  end(): object {
    const rest = parse(this.#rest);
    if (typeof rest !== 'object' || rest === null || Array.isArray(rest))
      throw new UnreadableList('this is no object');
    return rest;
  }

  #readText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === backslash) this.#isEscaped = true;
    else if (code === quote) this.#isInText = false;
  }

  #keep(text: string): void {
    const { itemCharactersMax, restCharactersMax } = this.#bounds;
    if (this.#isInList) this.#item += text;
    else this.#rest += text;
    if (this.#item.length > itemCharactersMax) throw new UnreadableList('an item is too long');
    if (this.#rest.length > restCharactersMax)
      throw new UnreadableList('what is around the list is too long');
  }

  #endItem(): void {
    const item = parse(this.#item);
    this.#item = '';
    this.#items += 1;
    this.#take(item);
  }

  #endList(): void {
    if (this.#items > 0 || this.#item.trim() !== '') this.#endItem();
    this.#isInList = false;
    this.#items = 0;
    this.#item = '';
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableList('this is no JSON', { cause: error });
  }
}
