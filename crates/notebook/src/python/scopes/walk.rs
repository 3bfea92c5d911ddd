//! A walk over the statements of a cell that notes where two names stand, and in which scope.
//!
//! Owns the grammar of Python as far as scopes need it: what gives a name a value, and what begins a scope. Code that
//! it cannot follow is a fault. Other errors of syntax pass, so it is not a parser.

use super::super::{
    PYTHON_MAGICS, Statement, StatementKind, count_words, find_cell_magic, find_line_end,
    split_statements,
};
use super::line::TokenLine;
use super::{CodeFault, MAX_DEPTH, NameForm, NamePlace, NameRole, NameScopes, ScopeKind};

type OrFault<T> = Result<T, CodeFault>;

/// A walk in progress. Positions are those of tokens in the current statement, ranges without their end.
pub(super) struct Walk<'a> {
    source: &'a str,
    names: [&'a str; 2],
    found: NameScopes,
    /// The blocks around the current statement; the first is the cell.
    blocks: Vec<Block>,
    /// The block that the next statement begins.
    next_block: Option<Block>,
    line: TokenLine<'a>,
    depth: usize,
    /// True directly inside the brackets of a call.
    is_call: bool,
    /// True if the current statement runs whenever the code of its scope does.
    is_certain: bool,
}

/// The statements with one indentation.
#[derive(Clone, Copy)]
struct Block {
    column: usize,
    scope: usize,
    /// True if the block is the body of its scope, so that all its statements run.
    is_body: bool,
    /// True for the cases of a `match`.
    has_cases: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(source: &'a str, names: [&'a str; 2]) -> Walk<'a> {
        Walk {
            source,
            names,
            found: NameScopes::new(names),
            blocks: Vec::new(),
            next_block: None,
            line: TokenLine::default(),
            depth: 0,
            is_call: false,
            is_certain: true,
        }
    }

    pub(super) fn cell(mut self) -> OrFault<NameScopes> {
        let source = self.source;
        let mut start = 0;
        loop {
            let body = source[start..].trim_start();
            let Some(magic) = find_cell_magic(body) else { break };
            let at = source.len() - body.len();
            let is_python = PYTHON_MAGICS.contains(&magic);
            start = if is_python { find_line_end(source, at) } else { source.len() };
            self.count_in_command(&source[at..start]);
        }
        for statement in split_statements(&source[start..]) {
            self.statement(statement, start)?;
            start += statement.text.len();
        }
        match self.next_block {
            None => Ok(self.found),
            Some(_) => {
                Err(CodeFault { offset: source.len(), problem: "an indented block is missing" })
            }
        }
    }

    fn statement(&mut self, statement: Statement<'a>, start: usize) -> OrFault<()> {
        let code = statement.code();
        self.count_in_command(&statement.text[code.len()..]);
        self.line = TokenLine::read(self.source, (start, start + code.len()))?;
        if self.line.len() == 0 && statement.kind != StatementKind::Command {
            return Ok(());
        }
        let columns =
            |column: usize, c: char| if c == '\t' { (column / 8 + 1) * 8 } else { column + 1 };
        self.enter(statement.indent().chars().fold(0, columns), start)?;
        self.whole_line()
    }

    fn count_in_command(&mut self, command: &str) {
        for (name, count) in self.names.iter().zip(&mut self.found.in_commands) {
            *count += count_words(command, name);
        }
    }

    /// Enters the block in which a statement with this indentation stands.
    fn enter(&mut self, column: usize, offset: usize) -> OrFault<()> {
        let around = self.blocks.last().map(|block| block.column);
        if let Some(block) = self.next_block.take() {
            if around.is_some_and(|around| column <= around) {
                return Err(CodeFault { offset, problem: "an indented block is missing" });
            }
            self.blocks.push(Block { column, ..block });
            return Ok(());
        }
        if self.blocks.is_empty() {
            self.blocks.push(Block { column, scope: 0, is_body: true, has_cases: false });
        }
        while self.blocks.len() > 1 && self.block().column > column {
            self.blocks.pop();
        }
        match self.block().column == column {
            true => Ok(()),
            false => Err(CodeFault { offset, problem: "the indentation fits no block" }),
        }
    }

    fn block(&self) -> Block {
        let cell = Block { column: 0, scope: 0, is_body: true, has_cases: false };
        self.blocks.last().copied().unwrap_or(cell)
    }

    // Note places.

    /// The followed name at this position, if there is one. Attributes do not count.
    fn followed(&self, at: usize) -> Option<usize> {
        let name = Some(self.line.text(at)).filter(|_| !self.line.is_behind(at, &["."]))?;
        self.names.iter().position(|followed| *followed == name)
    }

    fn add(&mut self, at: usize, scope: usize, role: NameRole, form: NameForm) {
        if let Some(name) = self.followed(at) {
            let span = self.line.span(at);
            self.found.add(NamePlace { name, span, role, form, scope });
        }
    }

    fn mark(&mut self, at: usize, scope: usize, role: NameRole) {
        self.add(at, scope, role, NameForm::Plain);
    }

    fn bind(&mut self, at: usize, scope: usize) {
        self.mark(at, scope, self.binding());
    }

    fn binding(&self) -> NameRole {
        NameRole::Bind { is_certain: self.is_certain }
    }

    /// Notes a name in an expression.
    fn name(&mut self, at: usize, scope: usize) {
        if self.is_call && self.line.is_equals(at + 1) {
            return;
        }
        if !self.line.is_walrus(at + 1) {
            return self.mark(at, scope, NameRole::Read);
        }
        // The name belongs to the scope around the comprehension, and must be seen from inside.
        let mut host = scope;
        while self.found.scopes[host].kind == ScopeKind::Comprehension {
            host = self.found.scopes[host].parent;
        }
        self.mark(at, host, NameRole::Bind { is_certain: false });
        if host != scope {
            self.mark(at, scope, NameRole::Read);
        }
    }

    // Statements.

    /// Walks a logical line: a header with or without its block, or simple statements.
    fn whole_line(&mut self) -> OrFault<()> {
        let (end, block) = (self.line.len(), self.block());
        let at = usize::from(self.line.text(0) == "async");
        let word = self.line.text(at);
        let has_header = match word {
            "if" | "elif" | "else" | "while" | "for" | "try" | "except" | "finally" | "with"
            | "def" | "class" => true,
            "match" => end > 2 && self.line.text(end - 1) == ":",
            "case" => block.has_cases,
            _ => false,
        };
        self.is_certain = block.is_body;
        if !has_header {
            return self.simple_statements(0, end, block.scope);
        }
        let Some(colon) = self.line.find_colon(at + 1, end) else {
            return Err(self.line.fault(at, "a colon is missing"));
        };
        let (from, scope) = (at + 1, block.scope);
        self.is_certain &= matches!(word, "def" | "class" | "with");
        let mut body = Block { column: 0, scope, is_body: false, has_cases: word == "match" };
        match word {
            "def" => body.scope = self.function(from, colon, scope)?,
            "class" => body.scope = self.class(from, colon, scope)?,
            "for" => self.for_targets(from, colon, (scope, scope))?,
            "with" => self.with_items(from, colon, scope)?,
            "except" => self.item(from, colon, scope)?,
            "case" => self.case(from, colon, scope)?,
            _ => self.expression(from, colon, scope)?,
        }
        body.is_body = body.scope != scope;
        if colon + 1 == end {
            self.next_block = Some(body);
            return Ok(());
        }
        self.is_certain = body.is_body;
        self.simple_statements(colon + 1, end, body.scope)
    }

    fn simple_statements(&mut self, from: usize, end: usize, scope: usize) -> OrFault<()> {
        let mut at = from;
        while at < end {
            let stop = self.line.find(at, end, &[";"]).unwrap_or(end);
            self.simple_statement(at, stop, scope)?;
            at = stop + 1;
        }
        Ok(())
    }

    fn simple_statement(&mut self, from: usize, end: usize, scope: usize) -> OrFault<()> {
        match self.line.text(from) {
            "import" => self.imports((from + 1, end), scope, false),
            "from" => {
                let Some(import) = self.line.find(from, end, &["import"]) else {
                    return self.expression(from, end, scope);
                };
                let is_group = self.line.text(import + 1) == "(";
                let (from, end) = if is_group { (import + 2, end - 1) } else { (import + 1, end) };
                self.imports((from, end), scope, true);
            }
            "global" => (from + 1..end).for_each(|at| self.mark(at, scope, NameRole::Global)),
            "nonlocal" => (from + 1..end).for_each(|at| self.mark(at, scope, NameRole::Nonlocal)),
            "del" => self.target((from + 1, end), scope, NameRole::Delete)?,
            "type" if self.line.is_name(from + 1) => {
                let value = self.type_parameters(from + 2, scope)?;
                self.expression(value, end, scope)?;
                self.bind(from + 1, scope);
            }
            _ => self.assignment(from, end, scope)?,
        }
        Ok(())
    }

    fn imports(&mut self, (from, end): (usize, usize), scope: usize, is_from: bool) {
        let mut at = from;
        while at < end {
            let stop = self.line.find(at, end, &[","]).unwrap_or(end);
            let start = self.line.span(at).start;
            let (name, form) = match self.line.find(at, stop, &["as"]) {
                Some(alias) => (alias + 1, NameForm::Alias(start)),
                None if is_from || at + 1 == stop => (at, NameForm::Imported),
                None => (at, NameForm::Package),
            };
            self.add(name, scope, self.binding(), form);
            at = stop + 1;
        }
    }

    /// Walks an assignment of any kind, or an expression. The value is evaluated first.
    fn assignment(&mut self, from: usize, end: usize, scope: usize) -> OrFault<()> {
        let (mut at, mut equals, mut colon, mut is_augmented) = (from, None, None, false);
        while at < end && self.line.text(at) != "lambda" {
            let augments = self.line.is_augmented(at);
            if augments || self.line.is_equals(at) {
                (equals, is_augmented) = (Some(at), augments);
            } else if self.line.text(at) == ":" && equals.is_none() {
                colon = colon.or(Some(at));
            }
            at = self.line.after(at);
        }
        if let Some(equals) = equals {
            self.expression(equals + 1, end, scope)?;
        }
        match (equals.unwrap_or(end), colon) {
            (value, Some(colon)) => {
                self.expression(colon + 1, value, scope)?;
                // Without a value, the annotation only says whose the name is.
                self.is_certain &= equals.is_some();
                self.target((from, colon), scope, self.binding())
            }
            (value, None) if value == end => self.expression(from, end, scope),
            (value, None) => {
                if is_augmented {
                    self.target((from, value), scope, NameRole::Read)?;
                    // In a class it may read another name than the one that it makes.
                    self.is_certain = false;
                }
                self.target((from, value), scope, self.binding())
            }
        }
    }

    /// Walks what an assignment, a loop or `del` names.
    fn target(&mut self, (from, end): (usize, usize), scope: usize, role: NameRole) -> OrFault<()> {
        let mut at = from;
        while at < end {
            let next = self.line.after(at);
            // Of `a.b`, `a[0]` and `(a)[0]` the value is changed, and the name is only read.
            let is_value = next < end && matches!(self.line.text(next), "." | "(" | "[");
            if self.line.is_open(at) {
                if is_value || self.line.is_behind_value(at) {
                    self.group(at, scope)?;
                } else {
                    self.target((at + 1, next - 1), scope, role)?;
                }
            } else {
                self.mark(at, scope, if is_value { NameRole::Read } else { role });
            }
            at = next;
        }
        Ok(())
    }

    /// Walks the parts of a `for`: the scopes are those of the iterable and of the targets.
    fn for_targets(
        &mut self,
        from: usize,
        end: usize,
        (outer, inner): (usize, usize),
    ) -> OrFault<()> {
        let Some(within) = self.line.find(from, end, &["in"]) else {
            return Err(self.line.fault(from, "a loop has no in"));
        };
        self.expression(within + 1, end, outer)?;
        self.target((from, within), inner, self.binding())
    }

    fn with_items(&mut self, from: usize, colon: usize, scope: usize) -> OrFault<()> {
        let is_group = self.line.text(from) == "(" && self.line.after(from) == colon;
        let (mut at, mut end) = (from, colon);
        if is_group && self.line.find(from + 1, colon - 1, &["as"]).is_some() {
            (at, end) = (from + 1, colon - 1);
        }
        while at < end {
            let stop = self.line.find(at, end, &[","]).unwrap_or(end);
            self.item(at, stop, scope)?;
            at = stop + 1;
        }
        Ok(())
    }

    /// Walks a value that may get a name: `open(path) as file`, `ValueError as error`.
    fn item(&mut self, from: usize, end: usize, scope: usize) -> OrFault<()> {
        let named = self.line.find(from, end, &["as"]).unwrap_or(end);
        self.expression(from, named, scope)?;
        self.target((named + 1, end), scope, self.binding())
    }

    fn case(&mut self, from: usize, colon: usize, scope: usize) -> OrFault<()> {
        let guard = self.line.find(from, colon, &["if"]).unwrap_or(colon);
        self.pattern(from, guard, scope);
        self.expression(guard, colon, scope)
    }

    /// Walks a pattern with all that is in its brackets: a name gets a value there, unless its neighbours say otherwise.
    fn pattern(&mut self, from: usize, end: usize, scope: usize) {
        for at in from..end {
            let is_keyword = self.line.is_equals(at + 1);
            let is_value = matches!(self.line.text(at + 1), "." | "(");
            match self.line.text(at) {
                "_" => {}
                _ if is_keyword => {}
                _ if is_value => self.mark(at, scope, NameRole::Read),
                _ => self.bind(at, scope),
            }
        }
    }

    // Scopes.

    fn function(&mut self, name: usize, colon: usize, scope: usize) -> OrFault<usize> {
        let list = self.type_parameters(name + 1, scope)?;
        let body = self.found.open(ScopeKind::Function, scope);
        let mut at = list;
        if self.line.text(list) == "(" {
            at = self.line.after(list);
            self.parameters((list + 1, at - 1), scope, body)?;
        }
        // What it returns.
        self.expression(at, colon, scope)?;
        self.bind(name, scope);
        Ok(body)
    }

    fn class(&mut self, name: usize, colon: usize, scope: usize) -> OrFault<usize> {
        let bases = self.type_parameters(name + 1, scope)?;
        self.expression(bases, colon, scope)?;
        self.bind(name, scope);
        Ok(self.found.open(ScopeKind::Class, scope))
    }

    /// Walks type parameters, if they are here, and returns the position behind them. They make a scope that sees
    /// classes, which is not followed.
    fn type_parameters(&mut self, at: usize, scope: usize) -> OrFault<usize> {
        if self.line.text(at) != "[" {
            return Ok(at);
        }
        let end = self.line.after(at);
        let is_same =
            |at: &usize| self.followed(*at).is_some() && self.line.is_behind(*at, &["[", ",", "*"]);
        if let Some(same) = (at + 1..end).find(is_same) {
            return Err(self.line.fault(same, "a type parameter has this name"));
        }
        self.expression(at + 1, end - 1, scope)?;
        Ok(end)
    }

    /// Walks the parameters of a function. Annotations and defaults belong to the scope around it.
    fn parameters(
        &mut self,
        (from, end): (usize, usize),
        outer: usize,
        inner: usize,
    ) -> OrFault<()> {
        let mut at = from;
        while at < end {
            if self.line.is_name(at) {
                self.bind(at, inner);
                at = self.expression_until(&[","], at + 1, end, outer)?;
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Walks a lambda and returns the position behind it.
    fn lambda(&mut self, at: usize, end: usize, scope: usize) -> OrFault<usize> {
        let Some(colon) = self.line.find_colon(at + 1, end) else {
            return Err(self.line.fault(at, "a lambda has no colon"));
        };
        let body = self.found.open(ScopeKind::Function, scope);
        self.parameters((at + 1, colon), scope, body)?;
        self.expression_until(&[",", ":"], colon + 1, end, body)
    }

    /// Walks a comprehension. Its first iterable belongs to the scope around it.
    fn comprehension(
        &mut self,
        from: usize,
        first: usize,
        end: usize,
        outer: usize,
    ) -> OrFault<()> {
        let inner = self.found.open(ScopeKind::Comprehension, outer);
        let mut at = first;
        while at < end {
            let next = self.line.find(at + 1, end, &["for"]).unwrap_or(end);
            let within = self.line.find(at, next, &["in"]).unwrap_or(at);
            let iterable_end = self.line.find(within, next, &["if", "async"]).unwrap_or(next);
            let scope = if at == first { outer } else { inner };
            self.for_targets(at + 1, iterable_end, (scope, inner))?;
            self.expression(iterable_end, next, inner)?;
            at = next;
        }
        self.expression(from, first, inner)
    }

    // Expressions.

    fn expression(&mut self, from: usize, end: usize, scope: usize) -> OrFault<()> {
        self.expression_until(&[], from, end, scope).map(drop)
    }

    /// Walks an expression up to a token with one of these texts, and returns its position, or the end.
    fn expression_until(
        &mut self,
        stops: &[&str],
        from: usize,
        end: usize,
        scope: usize,
    ) -> OrFault<usize> {
        if self.depth == MAX_DEPTH {
            return Err(self.line.fault(from, "expressions are nested too deep"));
        }
        self.depth += 1;
        let mut at = from;
        while at < end && !stops.contains(&self.line.text(at)) {
            if self.line.text(at) == "lambda" {
                at = self.lambda(at, end, scope)?;
                continue;
            }
            match self.line.is_open(at) {
                true => self.group(at, scope)?,
                false => self.name(at, scope),
            }
            at = self.line.after(at);
        }
        self.depth -= 1;
        Ok(at)
    }

    /// Walks what stands in brackets.
    fn group(&mut self, at: usize, scope: usize) -> OrFault<()> {
        let (from, end) = (at + 1, self.line.after(at) - 1);
        let is_call = self.line.text(at) == "(" && self.line.is_behind_value(at);
        let around = std::mem::replace(&mut self.is_call, is_call);
        match self.line.find(from, end, &["for"]) {
            Some(first) => self.comprehension(from, first, end, scope)?,
            None => self.expression(from, end, scope)?,
        }
        self.is_call = around;
        Ok(())
    }
}
