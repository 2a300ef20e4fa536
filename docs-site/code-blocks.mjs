// Copied commands have no comments: by default, zsh treats a comment after a command as arguments.
const terminalLanguages = new Set(['sh', 'bash', 'shell', 'shellscript', 'zsh']);
/** The line separator in the copy button's attribute. */
const separator = '\x7F';

/** A plugin of Expressive Code, which renders blocks of code. */
export function copyWithoutComments() {
  return {
    name: 'copy without comments',
    hooks: {
      postprocessRenderedBlock({ codeBlock, renderData }) {
        if (!terminalLanguages.has(codeBlock.language)) return;
        const button = findElement(renderData.blockAst, 'button');
        if (button === undefined) return;
        const name = 'dataCode' in button.properties ? 'dataCode' : 'data-code';
        button.properties[name] = button.properties[name]
          .split(separator)
          .map(withoutComment)
          .join(separator);
      },
    },
  };
}

/** A `#` in an open quotation begins no comment. */
function withoutComment(line) {
  const start = line.search(/\s+# /);
  const isOpen = (mark) => line.slice(0, start).split(mark).length % 2 === 0;
  return start < 0 || isOpen("'") || isOpen('"') ? line : line.slice(0, start);
}

/**
 * Lets the keyboard scroll a block. Expressive Code's own script makes a landmark without a name of each block that scrolls;
 * it leaves a block with a tabindex as it is, and removes the tabindex where the block needs no scrolling.
 */
export function focusBlocks() {
  return {
    name: 'focus blocks',
    hooks: {
      postprocessRenderedBlock({ renderData }) {
        const block = findElement(renderData.blockAst, 'pre');
        if (block !== undefined) block.properties.tabIndex = 0;
      },
    },
  };
}

function findElement(node, tagName) {
  if (node.tagName === tagName) return node;
  for (const child of node.children ?? []) {
    const found = findElement(child, tagName);
    if (found !== undefined) return found;
  }
  return undefined;
}
