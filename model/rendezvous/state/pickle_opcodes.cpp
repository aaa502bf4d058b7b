// What each opcode does (Lib/pickletools.py), as a table: an opcode that is not in it is refused.
#include <array>

#include "model/rendezvous/state/pickle_machine.h"
#include "model/rendezvous/state/pickle_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::size_t kOpcodesMax = 1'000'000;
constexpr std::size_t kMarksMax = 64;
constexpr std::uint64_t kProtocolMax = 5;

}  // namespace

struct PickleMachine::Steps {
  using Machine = PickleMachine;
  using Table = std::array<Step, 256>;

  static constexpr void numbers(Table& on) {
    on['N'] = [](Machine& m) { m.push(Kind::none); };
    on[0x88] = [](Machine& m) { m.push(Kind::boolean, 1); };
    on[0x89] = [](Machine& m) { m.push(Kind::boolean, 0); };
    on['K'] = [](Machine& m) { m.push(Kind::integer, static_cast<std::int64_t>(m.number(1))); };
    on['M'] = [](Machine& m) { m.push(Kind::integer, static_cast<std::int64_t>(m.number(2))); };
    on['J'] = [](Machine& m) { m.push(Kind::integer, m.signed_number(4)); };
    on[0x8a] = [](Machine& m) { m.push(Kind::integer, m.signed_number(m.number(1))); };
    on[0x8b] = [](Machine& m) { m.push(Kind::integer, m.signed_number(m.number(4))); };
    on['I'] = [](Machine& m) {
      const std::string_view digits = m.line();
      const bool truth = digits == "00" || digits == "01";
      m.push(truth ? Kind::boolean : Kind::integer, m.decimal(digits));
    };
    on['L'] = [](Machine& m) {
      std::string_view digits = m.line();
      if (digits.ends_with('L')) digits.remove_suffix(1);
      m.push(Kind::integer, m.decimal(digits));
    };
    on['F'] = [](Machine& m) {
      static_cast<void>(m.line());
      m.push(Kind::real);
    };
    on['G'] = [](Machine& m) {
      static_cast<void>(m.take(8));
      m.push(Kind::real);
    };
  }

  static constexpr void texts(Table& on) {
    on[0x8c] = [](Machine& m) { m.push_utf8(m.take(m.number(1))); };
    on['X'] = [](Machine& m) { m.push_utf8(m.take(m.number(4))); };
    on[0x8d] = [](Machine& m) { m.push_utf8(m.take(m.number(8))); };
    on['U'] = [](Machine& m) { m.push_ascii(m.take(m.number(1))); };
    on['T'] = [](Machine& m) { m.push_ascii(m.take(m.number(4))); };
    on['V'] = [](Machine& m) {
      const std::string_view raw = m.line();
      auto text = from_raw_unicode_escape(raw);
      if (!text) m.refuse("whole unicode escapes", quoted_for_message(raw), "UnicodeDecodeError");
      m.push_text(Kind::text, m.keep(std::move(*text)));
    };
    on['S'] = [](Machine& m) {
      const std::string_view raw = m.line();
      auto text = from_quoted(raw);
      if (!text) {
        m.refuse("a quoted string", quoted_for_message(raw),
                 is_quoted(raw) ? "ValueError" : nullptr);
      }
      m.push_ascii(m.keep(std::move(*text)));
    };
    on['C'] = [](Machine& m) { m.push_text(Kind::bytes, m.take(m.number(1))); };
    on['B'] = [](Machine& m) { m.push_text(Kind::bytes, m.take(m.number(4))); };
    on[0x8e] = on[0x96] = [](Machine& m) { m.push_text(Kind::bytes, m.take(m.number(8))); };
  }

  static constexpr void collections(Table& on) {
    on[')'] = [](Machine& m) { m.push(Kind::tuple); };
    on[0x85] = [](Machine& m) { m.push_top(1); };
    on[0x86] = [](Machine& m) { m.push_top(2); };
    on[0x87] = [](Machine& m) { m.push_top(3); };
    on['t'] = [](Machine& m) { m.push_marked(Kind::tuple); };
    on[']'] = [](Machine& m) { m.push(Kind::list); };
    on['l'] = [](Machine& m) { m.push_marked(Kind::list); };
    on['}'] = [](Machine& m) { m.push(Kind::dict); };
    on['d'] = [](Machine& m) { m.push_marked(Kind::dict); };
    on[0x8f] = [](Machine& m) { m.push(Kind::set); };
    on[0x91] = [](Machine& m) { m.push_marked(Kind::set); };
    on['a'] = [](Machine& m) {
      const std::array<PickleIndex, 1> item{m.pop()};
      m.extend(m.top(), Kind::list, item, false);
    };
    on['s'] = [](Machine& m) {
      std::array<PickleIndex, 2> pair{};
      pair[1] = m.pop();
      pair[0] = m.pop();
      m.extend(m.top(), Kind::dict, pair, true);
    };
    on['e'] = [](Machine& m) { m.extend_marked(Kind::list, false); };
    on['u'] = [](Machine& m) { m.extend_marked(Kind::dict, true); };
    on[0x90] = [](Machine& m) { m.extend_marked(Kind::set, false); };
  }

  static constexpr void stack_and_memo(Table& on) {
    on['('] = [](Machine& m) {
      if (m.marks_.size() == kMarksMax) m.refuse("nesting of at most 64", "deeper nesting");
      m.marks_.push_back(m.stack_.size());
    };
    on['0'] = [](Machine& m) {
      if (!m.marks_.empty() && m.marks_.back() == m.stack_.size()) {
        m.marks_.pop_back();
      } else {
        static_cast<void>(m.pop());
      }
    };
    on['1'] = [](Machine& m) {
      static_cast<void>(m.marked());
      m.drop_marked();
    };
    on['2'] = [](Machine& m) { m.stack_.push_back(m.top()); };
    on[0x94] = [](Machine& m) { m.put(m.memo_.size()); };
    on['q'] = [](Machine& m) { m.put(m.number(1)); };
    on['r'] = [](Machine& m) { m.put(m.number(4)); };
    on['p'] = [](Machine& m) { m.put(static_cast<std::uint64_t>(m.decimal(m.line()))); };
    on['h'] = [](Machine& m) { m.get(m.number(1)); };
    on['j'] = [](Machine& m) { m.get(m.number(4)); };
    on['g'] = [](Machine& m) { m.get(static_cast<std::uint64_t>(m.decimal(m.line()))); };
  }

  static constexpr void objects(Table& on) {
    on['c'] = [](Machine& m) {
      const std::string_view module = m.line();
      m.global(module, m.line());
    };
    on[0x93] = [](Machine& m) {
      const PickleObject& name = m.object(m.pop());
      const PickleObject& module = m.object(m.pop());
      if (name.kind != Kind::text) m.refuse("the name of a class", name);
      if (module.kind != Kind::text) m.refuse("the name of a module", module);
      m.global(m.text(module), m.text(name));
    };
    on[0x81] = [](Machine& m) { m.new_object(); };
    on[0x92] = [](Machine& m) {
      const PickleObject& keywords = m.object(m.pop());
      if (keywords.kind != Kind::dict || keywords.size != 0) m.refuse("an empty dict", keywords);
      m.new_object();
    };
    on['R'] = [](Machine& m) { m.reduce(); };
    on['b'] = [](Machine& m) { m.build(); };
    on['.'] = [](Machine& m) { m.stopped_ = true; };
    on[0x80] = [](Machine& m) {
      const std::uint64_t version = m.number(1);
      if (version > kProtocolMax)
        m.refuse("protocol 0 to 5", std::to_string(version), "ValueError");
    };
    on[0x95] = [](Machine& m) {
      const std::uint64_t length = m.number(8);
      const std::size_t rest = m.bytes_.size() - m.position_;
      if (length > rest) {
        m.refuse("a frame of at most " + std::to_string(rest) + " bytes", std::to_string(length));
      }
    };
  }

  static constexpr Table all() {
    Table table{};
    numbers(table);
    texts(table);
    collections(table);
    stack_and_memo(table);
    objects(table);
    return table;
  }
};

PickleIndex PickleMachine::run() {
  static constexpr Steps::Table kSteps = Steps::all();
  for (std::size_t opcodes = 0; !stopped_; ++opcodes) {
    at_ = position_;
    if (opcodes == kOpcodesMax) refuse("at most 1000000 opcodes", "more");
    if (position_ == bytes_.size()) refuse("an opcode", "the end of the data", "EOFError");
    const auto opcode = static_cast<unsigned char>(bytes_[position_++]);
    const Step step = kSteps[opcode];
    if (step == nullptr) {
      static constexpr std::string_view kDigits = "0123456789abcdef";
      refuse("an opcode that a state needs",
             std::string("0x") + kDigits[opcode >> 4U] + kDigits[opcode & 15U]);
    }
    step(*this);
  }
  if (position_ != bytes_.size()) {
    at_ = position_;
    refuse("the end of the data", std::to_string(bytes_.size() - position_) + " bytes more");
  }
  if (stack_.size() != 1 || !marks_.empty()) {
    refuse("one object on the stack", std::to_string(stack_.size()) + " objects and " +
                                          std::to_string(marks_.size()) + " marks");
  }
  HOOKE_CHECK(stack_.back() < objects_.size(), "what is left is an object");
  return stack_.back();
}

}  // namespace hooke::model
